//! The `skein` command.
fn main() {}
