//! TLS: named files become what rustls works with, and are looked at again while they are in use.
//!
//! ```text
//!   blueprint ─► files ─► server: what a listener shows, and whom it lets in     ┐
//!                 │       client: whom a cluster is believed, and what is shown  ├─► Kept: replaced when the files change
//!                 └► faults, with their places in the configuration              ┘
//! ```
//!
//! Invariants: what is in use is always good; a pair that does not match, or cannot be read, changes nothing. Connections that
//! are open stay as they are. Nothing of a key is in any message.

mod certificate;
mod client;
mod files;
mod kept;
mod server;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};
use skein_config::Blueprint;
use skein_config::tls::{Agreed, SUITES, Suite, Version};
use skein_settings::Fault;

pub(crate) use self::client::failure;
pub use self::client::{ClientTls, trusting};
pub use self::files::Files;
pub use self::kept::{Look, Renewed};
pub use self::server::{ServerTls, Shown};
pub use skein_config::tls::NamedFile;

/// All that a blueprint needs of TLS.
#[derive(Default)]
pub struct Material {
    /// Of each cluster that is spoken to under TLS, by its name.
    pub clusters: BTreeMap<Arc<str>, Arc<ClientTls>>,
    /// Of each listener with TLS, by the names of its virtual cluster and its own.
    pub listeners: BTreeMap<(Arc<str>, Arc<str>), Arc<ServerTls>>,
}

/// What TLS is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'n> {
    /// Towards a cluster of this name.
    Cluster(&'n str),
    /// Towards the clients of a virtual cluster of this name.
    VirtualCluster(&'n str),
}

impl Material {
    /// Reads every file that is named. `folder`: where relative paths begin; `wanted`: what TLS is needed for: what is as it was
    /// is served with what it has.
    ///
    /// # Errors
    /// All faults: a file that is missing or holds something else, a key of another certificate, a host that the certificate is
    /// not for.
    pub fn load(blueprint: &Blueprint, folder: &Path, wanted: impl Fn(Part<'_>) -> bool) -> Result<Self, Vec<Fault>> {
        let files = Files::new(folder);
        let (mut material, mut faults) = (Self::default(), Vec::new());
        for cluster in blueprint.clusters.iter().filter(|cluster| wanted(Part::Cluster(&cluster.name))) {
            match cluster.tls.as_ref().map(|declared| ClientTls::load(declared, &files)) {
                Some(Ok(tls)) => drop(material.clusters.insert(Arc::clone(&cluster.name), tls)),
                Some(Err(found)) => faults.extend(found),
                None => {}
            }
        }
        let new = blueprint.virtual_clusters.iter().filter(|cluster| wanted(Part::VirtualCluster(&cluster.name)));
        for cluster in new {
            for listener in &cluster.listeners {
                let name = (Arc::clone(&cluster.name), Arc::clone(&listener.name));
                match listener.tls.as_ref().map(|declared| ServerTls::load(declared.get_ref(), &listener.hosts, &files))
                {
                    Some(Ok(tls)) => drop(material.listeners.insert(name, tls)),
                    Some(Err(found)) => faults.extend(found),
                    None => {}
                }
            }
        }
        if faults.is_empty() { Ok(material) } else { Err(faults) }
    }

    /// What is good, and ought to be renewed: certificates whose time is over, or has not begun. One sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let of_listeners = self.listeners.iter().filter_map(|((cluster, listener), tls)| {
            Some(format!("listener `{listener}` of virtual cluster `{cluster}`: {}", tls.warning()?))
        });
        of_listeners.collect()
    }
}

/// Suites and versions of rustls, as far as they may be agreed on.
fn provider(agreed: &Agreed) -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    if !agreed.suites.is_empty() {
        let all = std::mem::take(&mut provider.cipher_suites);
        let found = |suite: &Suite| all.iter().find(|known| name(known) == suite.name).copied();
        provider.cipher_suites = agreed.suites.iter().filter_map(found).collect();
    }
    Arc::new(provider)
}

/// The name of a suite in the registry of the IANA.
fn name(suite: &SupportedCipherSuite) -> String {
    let name = format!("{:?}", suite.suite());
    name.strip_prefix("TLS13_").map(|rest| format!("TLS_{rest}")).unwrap_or(name)
}

/// Versions that may be agreed on: those that are declared and have a suite.
fn versions(agreed: &Agreed) -> Vec<&'static SupportedProtocolVersion> {
    let suites = if agreed.suites.is_empty() { SUITES.to_vec() } else { agreed.suites.clone() };
    let all = [(Version::Tls13, &rustls::version::TLS13), (Version::Tls12, &rustls::version::TLS12)];
    let may_be = |version: &Version| {
        let is_declared = agreed.versions.is_empty() || agreed.versions.contains(version);
        is_declared && suites.iter().any(|suite| suite.version == *version)
    };
    all.into_iter().filter(|(version, _)| may_be(version)).map(|(_, version)| version).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_that_can_be_declared_is_one_of_the_library_and_the_other_way_round() {
        let known: Vec<_> = aws_lc_rs::default_provider().cipher_suites.iter().map(name).collect();
        let mut declared: Vec<_> = SUITES.iter().map(|suite| suite.name.to_owned()).collect();
        assert_eq!(known.len(), declared.len());
        declared.retain(|name| !known.contains(name));
        assert!(declared.is_empty(), "{declared:?} are not in {known:?}");
    }

    #[test]
    fn a_version_without_a_suite_is_not_agreed_on() {
        let of = |version| SUITES.into_iter().filter(move |suite| suite.version == version).collect();
        let only = |suites| Agreed { suites, versions: Vec::new() };
        assert_eq!(versions(&Agreed::default()).len(), 2);
        assert_eq!(versions(&only(of(Version::Tls12))), [&rustls::version::TLS12]);
        let agreed = only(of(Version::Tls13));
        assert_eq!(versions(&agreed), [&rustls::version::TLS13]);
        assert_eq!(provider(&agreed).cipher_suites.len(), 3);
    }
}
