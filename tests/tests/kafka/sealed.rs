//! The scenarios of `docs/clients.md` once more, at a guarded cluster: by SCRAM-SHA-512 over TLS directly, and by the same over
//! TLS and names through Skein, which logs in for its clients. The results are equal.
//!
//! CI has a sample; with `SKEIN_SEALED=all` it is every scenario of every family, bare and disguised, and with
//! `SKEIN_SEALED="Java classic"`, say, one.

use anyhow::{Result, ensure};
use skein_tests::{
    client::{self, Access, Endpoint, Family, Mechanism, Way},
    cluster::{self, Cluster, Spec},
    skein::{Addressing, Form, Gatehouse},
};

use crate::fronted::{all_are, serve_skein, service};
use crate::scenarios;

const WAY: Way = Way::Password(Mechanism::ScramSha512);

/// A family's scenario, and what stands between it and the cluster.
type Case = (Family, &'static str, Form);

/// What every change has to show.
const SAMPLE: [Case; 2] =
    [(Family::FranzGo, "transactions", Form::Disguised), (Family::Librdkafka, "classic", Form::Bare)];

fn cases() -> Vec<Case> {
    let Ok(wanted) = std::env::var("SKEIN_SEALED") else { return SAMPLE.to_vec() };
    let of = |(family, names): &(Family, &'static [&'static str])| {
        let both = |name: &&'static str| [Form::Bare, Form::Disguised].map(|form| (*family, *name, form));
        names.iter().flat_map(both).collect::<Vec<_>>()
    };
    let all = scenarios::ALL.iter().flat_map(of);
    all.filter(|(family, name, _)| wanted == "all" || format!("{family:?} {name}").starts_with(&wanted)).collect()
}

/// The cluster, and the proxies before it.
struct Sealed {
    cluster: Cluster,
    bare: Gatehouse,
    disguised: Gatehouse,
}

impl Sealed {
    fn start() -> Result<Self> {
        let cluster = Cluster::start(&Spec::three_guarded())?;
        serve_skein(&cluster)?;
        let before = |form| Gatehouse::start(&cluster, form, &service());
        let (bare, disguised) = (before(Form::Bare)?, before(Form::Disguised)?);
        Ok(Self { cluster, bare, disguised })
    }

    fn is_the_same(&self, (family, scenario, form): Case) -> Result<()> {
        let skein = Access::password(Mechanism::ScramSha512, "skein", &cluster::password("skein"));
        let skein = skein.trusting(&self.cluster.guard()?.authority.certificate());
        let direct = client::run(family, scenario, Endpoint::new(&self.cluster.bootstrap(), skein), &[])?;
        let gatehouse = if form == Form::Bare { &self.bare } else { &self.disguised };
        let alice = gatehouse.alice(&self.cluster, WAY, Addressing::Sni)?;
        client::same(&direct, &client::run_through(family, scenario, alice, &self.cluster, &[])?)
    }
}

#[test]
fn what_clients_see_is_the_same_behind_tls_logins_and_names() -> Result<()> {
    let sealed = Sealed::start()?;
    let cases = cases();
    ensure!(
        !cases.is_empty(),
        "SKEIN_SEALED is `all`, a family, such as `Java`, or one with a scenario, such as `Java classic`"
    );
    all_are(cases, |case| sealed.is_the_same(case))
}
