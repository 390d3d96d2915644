//! Every way in to Skein before a guarded cluster, by every family, by ports and by names: TLS on both sides, and what is let
//! in and refused is the same as at the cluster itself.
//!
//! CI has a sample with each family, each way and both kinds of addressing; with `SKEIN_WAYS=all` it is all of them.

use std::{
    collections::BTreeSet,
    fmt::Debug,
    sync::{Mutex, OnceLock, PoisonError, mpsc},
    thread,
};

use anyhow::{Result, anyhow, ensure};
use skein_tests::{
    client::{self, Endpoint, Family, Mechanism, Way},
    cluster::{self, Acl, Cluster, Operation, Resource},
    skein::{Addressing, Form, Gatehouse},
    workplace,
};

use crate::secured::{connects, login, refusal};

/// Skein's own login at the cluster.
pub(crate) fn service() -> String {
    format!("mechanism = \"SCRAM-SHA-512\"\nusername = \"skein\"\npassword = \"{}\"", cluster::password("skein"))
}

/// Lets Skein do everything that its clients do.
pub(crate) fn serve_skein(cluster: &Cluster) -> Result<()> {
    let resources = [Resource::topic("*"), Resource::group("*"), Resource::transactional_id("*"), Resource::cluster()];
    cluster.admin()?.add(&resources.map(|resource| Acl::allow("skein", Operation::All, resource)))
}

fn gatehouse() -> Result<&'static Gatehouse> {
    static GATEHOUSE: OnceLock<Result<Gatehouse, String>> = OnceLock::new();
    let made = GATEHOUSE.get_or_init(|| {
        let start = || {
            let cluster = cluster::guarded()?;
            serve_skein(cluster)?;
            Gatehouse::start(cluster, Form::Bare, &service())
        };
        start().map_err(|error| format!("{error:#}"))
    });
    made.as_ref().map_err(|error| anyhow!(error.clone()))
}

const PLAIN: Way = Way::Password(Mechanism::Plain);
const SHA_256: Way = Way::Password(Mechanism::ScramSha256);
const SHA_512: Way = Way::Password(Mechanism::ScramSha512);

type Case = (Family, Way, Addressing);

/// Those who get in, for every change.
const LET_IN: [Case; 7] = [
    (Family::Java, Way::Token, Addressing::Sni),
    (Family::Java, Way::Certificate, Addressing::Ports),
    (Family::Librdkafka, SHA_512, Addressing::Sni),
    (Family::FranzGo, Way::Certificate, Addressing::Sni),
    (Family::KafkaJs, SHA_256, Addressing::Sni),
    (Family::KafkaPython, PLAIN, Addressing::Sni),
    (Family::Aiokafka, Way::Token, Addressing::Sni),
];

/// Those who do not.
const REFUSED: [Case; 6] = [
    (Family::KafkaJs, Way::Token, Addressing::Sni),
    (Family::Aiokafka, Way::Token, Addressing::Ports),
    (Family::FranzGo, PLAIN, Addressing::Sni),
    (Family::KafkaJs, SHA_256, Addressing::Ports),
    (Family::Librdkafka, SHA_512, Addressing::Sni),
    (Family::FranzGo, Way::Certificate, Addressing::Sni),
];

/// All there are, or the sample.
fn cases(sample: &[Case]) -> Vec<Case> {
    if std::env::var("SKEIN_WAYS").is_ok_and(|ways| ways == "all") {
        let of = |family: Family| Way::ALL.map(|way| Addressing::ALL.map(|by| (family, way, by))).concat();
        return Family::CLIENTS.into_iter().flat_map(of).collect();
    }
    sample.to_vec()
}

/// Tries all, two at a time, and tells of every one that is not as it should be.
pub(crate) fn all_are<T: Copy + Debug + Send>(cases: Vec<T>, is: impl Fn(T) -> Result<()> + Sync) -> Result<()> {
    let (count, cases) = (cases.len(), Mutex::new(cases));
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let next = || cases.lock().unwrap_or_else(PoisonError::into_inner).pop();
                while let Some(case) = next() {
                    let _ = tell.send((case, is(case)));
                }
            });
        }
    });
    drop(tell);
    let outcomes: Vec<_> = told.iter().collect();
    ensure!(outcomes.len() == count, "{} of {count} were tried", outcomes.len());
    let wrong: Vec<_> = outcomes.iter().filter_map(|(case, is)| Some((case, is.as_ref().err()?))).collect();
    let told: Vec<_> = wrong.iter().map(|(case, why)| format!("{case:?}: {why:#}")).collect();
    ensure!(wrong.is_empty(), "{} of {count}:\n{}", told.len(), told.join("\n"));
    Ok(())
}

#[test]
fn alice_gets_in_every_way() -> Result<()> {
    let cluster = cluster::guarded()?;
    all_are(cases(&LET_IN), |(family, way, by)| connects(family, gatehouse()?.alice(cluster, way, by)?))
}

#[test]
fn what_is_wrong_is_refused_as_at_the_cluster() -> Result<()> {
    let cluster = cluster::guarded()?;
    all_are(cases(&REFUSED), |(family, way, by)| {
        let access = way.refused(cluster, &workplace::run_dir("refused")?)?;
        // One of its own: who has guessed wrong too often has to wait, and all of these come from one address.
        let gatehouse = Gatehouse::start(cluster, Form::Bare, &service())?;
        let at = Endpoint::new(&gatehouse.bootstrap(way, by), access);
        client::same(&refusal(family, way), &login(family, at)?)?;
        gatehouse.told(match way {
            Way::Password(_) => "wrong password",
            Way::Token => "the token is for another audience",
            Way::Certificate => "peer sent no certificates",
        })
    })
}

#[test]
fn the_password_of_the_cluster_is_none_at_skein() -> Result<()> {
    let access = SHA_512.access(cluster::guarded()?)?;
    let endpoint = Endpoint::new(&gatehouse()?.bootstrap(SHA_512, Addressing::Ports), access);
    client::same(&refusal(Family::FranzGo, SHA_512), &login(Family::FranzGo, endpoint)?)
}

#[test]
fn the_sample_has_every_family_way_and_addressing() -> Result<()> {
    let all: BTreeSet<_> = LET_IN.iter().map(|(family, ..)| *family).collect();
    ensure!(all == Family::CLIENTS.into_iter().collect(), "{all:?}");
    for sample in [&LET_IN[..], &REFUSED] {
        let ways: BTreeSet<_> = sample.iter().map(|(_, way, _)| *way).collect();
        ensure!(ways == Way::ALL.into_iter().collect(), "{ways:?}");
        let kinds: BTreeSet<_> = sample.iter().map(|(.., by)| *by).collect();
        ensure!(kinds == Addressing::ALL.into_iter().collect(), "{kinds:?}");
    }
    Ok(())
}
