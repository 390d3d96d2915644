# Short names for what cargo and `cargo xtask` do. Nothing here is needed: each recipe is the line that it shows.

# Show the recipes.
default:
    @just --list

# Under a minute once built: layout, lints, tests that need no socket.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-features --all-targets -- -D warnings
    cargo test --workspace --all-features --lib --bins

# Everything, set-up included, as in CI.
test:
    cargo xtask test

# Real clients against real clusters; `just kafka login` runs those whose name has "login".
kafka filter="":
    cargo test --workspace --all-features --test kafka -- {{filter}}

# A raw client and a scripted broker around the proxy.
wire filter="":
    cargo test --workspace --all-features --test wire -- {{filter}}

# Two embedded clusters, Skein in front of them, checked traffic: on one screen.
demo *arguments:
    cargo xtask demo {{arguments}}

# CPU per GB beside a plain relay, ten minutes; writes benches/RESULTS.md.
bench *arguments:
    cargo build --release -p skein-proxy -p skein-benches
    target/release/compare {{arguments}}

# Proofs that take long: hostile frames by the million, the engine's simulation, brokers that die again and again.
soak:
    cargo xtask soak

# Regenerate the field table from Kafka's message definitions.
wire-table:
    cargo xtask wire-table

# Known vulnerabilities of dependencies; needs cargo-deny, and the network for its database.
advisories:
    cargo deny --all-features check advisories
