//! A proxy before a guarded cluster: TLS on both sides, and every way in, by ports and by names.

use std::{fmt::Write, time::Duration};

use anyhow::{Context, Result, ensure};

use super::{Form, Front, Skein, Users};
use crate::{
    client::{Access, DOMAIN, Endpoint, Way},
    cluster::{Cluster, USER},
    issuer::AUDIENCE,
    pki::{Identity, Leaf},
    ports, process,
};

/// How the nodes of a virtual cluster are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Addressing {
    /// Each has a port.
    Ports,
    /// Each has a name, which clients send in their TLS hellos.
    Sni,
}

impl Addressing {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ports, Self::Sni];
}

/// Ports for virtual nodes, as `Front` has.
const NODE_PORTS: u16 = 16;

/// The proxy, and what it lets clients in by.
///
/// Four listeners of one virtual cluster: whoever comes by a password or a token and whoever comes by a certificate have one
/// each that is addressed by ports, and one each that is addressed by names, which share a port.
#[derive(Debug)]
pub struct Gatehouse {
    /// The proxy itself.
    pub skein: Skein,
    /// Who may come by a password, which is another one than at the cluster.
    pub users: Users,
    mutual: u16,
    sni: u16,
}

/// A user's password at the proxy.
pub fn password_at_skein(user: &str) -> String {
    format!("another-secret-of-{user}")
}

/// How Skein logs in at a guarded cluster: over TLS, by the lines of `[clusters.one.login]`.
pub fn upstream(cluster: &Cluster, login: &str) -> Result<String> {
    let authority = cluster.guard()?.authority.certificate();
    Ok(format!("tls = {{ ca = {authority:?} }}\n\n[clusters.one.login]\n{login}\n"))
}

/// How Skein judges the tokens of a guarded cluster's issuer: a table `tokens`.
pub fn tokens(cluster: &Cluster) -> Result<String> {
    let issuer = &cluster.guard()?.issuer;
    let (keys, name) = (issuer.keys_url(), issuer.name());
    Ok(format!("{{ keys = \"{keys}\", issuer = \"{name}\", audience = [\"{AUDIENCE}\"] }}"))
}

/// What clients are shown: a line of a listener's table.
pub fn shown(identity: &Identity) -> String {
    format!("tls = {{ certificate = {:?}, key = {:?} }}\n", identity.certificate, identity.key)
}

/// A certificate of the cluster's authority for a proxy, for all its names. One in files of the same `name` is replaced.
pub fn certificate(cluster: &Cluster, name: &str) -> Result<Identity> {
    let names = ["main", "mutual"].map(|name| format!("{name}.{DOMAIN}"));
    let below = names.each_ref().map(|name| format!("*.{name}"));
    let names: Vec<_> = names.iter().chain(&below).map(String::as_str).chain(["127.0.0.1"]).collect();
    cluster.guard()?.authority.issue(name, &Leaf::server(&names))
}

impl Gatehouse {
    /// Starts one. `login`: the lines of `[clusters.one.login]`.
    ///
    /// # Errors
    /// The cluster is not guarded, or the proxy does not start.
    pub fn start(cluster: &Cluster, form: Form, login: &str) -> Result<Self> {
        let users = Users::of(&[(USER, &password_at_skein(USER))])?;
        let mutual = ports::block(NODE_PORTS + 1)?;
        let identity = certificate(cluster, &files(mutual))?;
        let sni = ports::block(1)?;
        let entry = format!(
            "login = {{ mechanisms = [\"PLAIN\", \"SCRAM-SHA-256\", \"SCRAM-SHA-512\", \"OAUTHBEARER\"], users = {:?}, tokens = {} }}\n{}",
            users.path(),
            tokens(cluster)?,
            shown(&identity)
        );
        let by_certificate = format!(
            "tls = {{ certificate = {:?}, key = {:?}, client-ca = {:?}, client-certificate = \"required\" }}\n",
            identity.certificate,
            identity.key,
            cluster.guard()?.authority.certificate()
        );
        let (from, to) = (mutual + 1, mutual + NODE_PORTS);
        let by_ports = format!("advertise = \"127.0.0.1\"\nports = \"{from}-{to}\"");
        let mut others = String::new();
        for (name, port, addressed, entry) in [
            ("mutual", mutual, by_ports, &by_certificate),
            ("main-sni", sni, by_names("main"), &entry),
            ("mutual-sni", sni, by_names("mutual"), &by_certificate),
        ] {
            let title = format!("[virtual-clusters.main.listeners.{name}]");
            writeln!(others, "{title}\nbind = \"127.0.0.1:{port}\"\n{addressed}\n{entry}")?;
        }
        let front = Front::of(cluster).form(form).cluster(&upstream(cluster, login)?).listener(&entry).tables(&others);
        Ok(Self { skein: Skein::start(&front.text()?)?, users, mutual, sni })
    }

    /// Gives it a new certificate.
    ///
    /// # Errors
    /// The cluster is not guarded, or the files could not be written.
    pub fn renew_certificate(&self, cluster: &Cluster) -> Result<()> {
        certificate(cluster, &files(self.mutual)).map(drop)
    }

    /// Where who comes this way is let in.
    pub fn bootstrap(&self, way: Way, by: Addressing) -> String {
        match (by, way) {
            (Addressing::Sni, Way::Certificate) => format!("mutual.{DOMAIN}:{}", self.sni),
            (Addressing::Sni, _) => format!("main.{DOMAIN}:{}", self.sni),
            (Addressing::Ports, Way::Certificate) => format!("127.0.0.1:{}", self.mutual),
            (Addressing::Ports, _) => self.skein.bootstrap(),
        }
    }

    /// Alice there, who comes this way.
    ///
    /// # Errors
    /// The cluster is not guarded.
    pub fn alice(&self, cluster: &Cluster, way: Way, by: Addressing) -> Result<Endpoint> {
        let access = match way {
            Way::Password(mechanism) => {
                let authority = cluster.guard()?.authority.certificate();
                Access::password(mechanism, USER, &password_at_skein(USER)).trusting(&authority)
            }
            Way::Token | Way::Certificate => way.access(cluster)?,
        };
        Ok(Endpoint::new(&self.bootstrap(way, by), access))
    }

    /// That its log says what it should, and has no secret.
    ///
    /// # Errors
    /// It does not say it soon, or has one.
    pub fn told(&self, what: &str) -> Result<()> {
        let says = || Ok(self.skein.log().contains(what).then_some(()));
        process::until(what, Duration::from_secs(5), says).with_context(|| self.skein.log())?;
        ensure!(!self.skein.log().contains("secret"), "a secret is in the log: {}", self.skein.log());
        Ok(())
    }
}

/// The name of its certificate's files: several stand before one cluster.
fn files(port: u16) -> String {
    format!("skein-{port}")
}

fn by_names(name: &str) -> String {
    format!("sni = \"broker-$(node).{name}.{DOMAIN}\"\nbootstrap-sni = \"{name}.{DOMAIN}\"")
}
