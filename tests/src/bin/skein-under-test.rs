//! The `skein` command as tests run it.

use skein_routing::kind::Registry;

fn main() -> miette::Result<()> {
    skein_proxy::command::main(&Registry::standard())
}
