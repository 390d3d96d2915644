//! Real clients against real clusters: what they see through the proxy is what they see without it.
//!
//! Every scenario runs in a program of its own, so tests may run side by side; clusters and proxies are started by the
//! first test that wants them. `kit` is ignored unless asked for: it shows that results do not depend on the run.

mod authorize;
mod chaos;
mod deeds;
mod fronted;
mod judged;
mod kit;
mod login;
mod mapped;
mod releases;
mod rotated;
mod scenarios;
mod sealed;
mod secured;
mod stage;
mod table;
mod woven;
