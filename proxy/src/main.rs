//! The `skein` command.

use skein_routing::kind::Registry;

fn main() -> miette::Result<()> {
    skein_proxy::command::main(&Registry::standard())
}
