//! The `skein` command.

use skein_routing::kind::Registry;

fn main() -> miette::Result<std::process::ExitCode> {
    skein_proxy::command::main(&Registry::standard())
}
