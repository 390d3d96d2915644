//! Names that client programs find on this machine, though no name server and no file of the system has them.
//!
//! Programs on the C library's resolver, which are those of Java, librdkafka, Python and Node, get a small library preloaded
//! (`clients/names`), made with the C compiler that Rust links with. Go asks name servers itself: that program dials by
//! its own rule. Both read the domain from their environment, and leave all other names alone.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;

use crate::artifacts;

/// Every name below it is at 127.0.0.1; nobody can have registered it (RFC 6761, 6.2).
pub const DOMAIN: &str = "skein.test";

/// What a program needs in its environment to find a bootstrap address; nothing if that has no such name.
pub(super) fn environment(bootstrap: &str) -> Result<Vec<(&'static str, OsString)>> {
    if !bootstrap.contains(DOMAIN) {
        return Ok(Vec::new());
    }
    let library: PathBuf = artifacts::names()?.join("names.so");
    Ok(vec![("SKEIN_CLIENT_DOMAIN", DOMAIN.into()), ("LD_PRELOAD", library.into())])
}
