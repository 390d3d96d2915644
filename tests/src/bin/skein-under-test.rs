//! The `skein` command as tests run it: with a router that renames everything.

use std::process::ExitCode;

use skein_routing::disguise::Disguise;
use skein_routing::kind::Registry;

fn main() -> ExitCode {
    skein_proxy::command::main(&Registry::standard().with::<Disguise>())
}
