//! The `skein` command.

use std::process::ExitCode;

use skein_routing::kind::Registry;

fn main() -> ExitCode {
    skein_proxy::command::main(&Registry::standard())
}
