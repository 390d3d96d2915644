//! The `skein` command as tests run it: with a router that renames everything.

use skein_routing::disguise::Disguise;
use skein_routing::kind::Registry;

fn main() -> miette::Result<std::process::ExitCode> {
    skein_proxy::command::main(&Registry::standard().with::<Disguise>())
}
