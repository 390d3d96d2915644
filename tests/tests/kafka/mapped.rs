//! Whom Skein speaks for at a guarded cluster: the cluster's rules hold for each principal as they hold without Skein.

use std::{
    net::SocketAddr,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use anyhow::{Context, Result, anyhow, ensure};
use kafka_protocol::{
    messages::{CreateTopicsRequest, TopicName, create_topics_request::CreatableTopic},
    protocol::StrBytes,
};
use skein_tests::{
    cluster::{self, Acl, Cluster, Operation, Resource, Security, Spec},
    issuer::Claims,
    process,
    raw::{PATIENCE, Raw, Shown},
    skein::{Front, Skein, Users, certificate, password_at_skein, shown, tokens, upstream},
    tls::{Dialer, Tunnel},
};

use crate::deeds::{self, Outcomes, TOPICS};
use crate::fronted::{serve_skein, service};

/// SASL_AUTHENTICATION_FAILED.
const REFUSED: i16 = 58;

/// Who is told apart by rules.
const PRINCIPALS: [&str; 3] = ["alice", "bob", "carol"];

/// What each may do.
fn rules() -> Vec<Acl> {
    let ours = |resource: Resource| resource.prefix();
    let (topics, groups, ids) =
        (ours(Resource::topic("acl.")), ours(Resource::group("acl.")), ours(Resource::transactional_id("acl.")));
    let (orders, bills) = (Resource::topic("acl.orders"), Resource::topic("acl.bills"));
    vec![
        Acl::allow("alice", Operation::All, topics.clone()),
        Acl::allow("alice", Operation::All, groups.clone()),
        Acl::allow("alice", Operation::All, ids),
        Acl::allow("alice", Operation::Describe, Resource::cluster()),
        Acl::allow("bob", Operation::Read, topics),
        Acl::deny("bob", Operation::Read, bills.clone()),
        Acl::allow("bob", Operation::Read, Resource::group("acl.readers")),
        Acl::allow("bob", Operation::DescribeConfigs, orders.clone()),
        Acl::allow("bob", Operation::DescribeConfigs, Resource::cluster()),
        Acl::allow("carol", Operation::Write, bills.clone()),
        Acl::allow("carol", Operation::Alter, bills.clone()),
        Acl::allow("carol", Operation::AlterConfigs, bills),
        Acl::allow("carol", Operation::Delete, orders),
        Acl::allow("carol", Operation::Delete, Resource::group("acl.readers")),
        Acl::allow("carol", Operation::Describe, groups),
        Acl::allow("carol", Operation::Write, Resource::transactional_id("acl.payer")),
        Acl::allow("carol", Operation::Create, Resource::cluster()),
    ]
}

/// A guarded cluster with these rules, and the topics; for one test at a time, since deeds are seen by others.
struct Ruled {
    cluster: &'static Cluster,
    direct: Tunnel,
    _turn: MutexGuard<'static, ()>,
}

impl Ruled {
    fn turn() -> Result<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        static CLUSTER: OnceLock<Result<Cluster, String>> = OnceLock::new();
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let made = CLUSTER.get_or_init(|| start().map_err(|error| format!("{error:#}")));
        let cluster = made.as_ref().map_err(|error| anyhow!(error.clone()))?;
        Ok(Self { cluster, direct: direct(cluster)?, _turn: turn })
    }

    /// What comes of all deeds of who shows that, at the cluster or elsewhere.
    fn tried(&self, at: &Tunnel, shown: &Shown) -> Result<Outcomes> {
        let mut raw = Raw::connect(self.direct.address)?;
        ensure!(raw.log_in(&at_cluster("skein"))? == 0);
        deeds::undo(&mut raw)?;
        let mut raw = Raw::connect(at.address)?;
        let code = raw.log_in(shown)?;
        ensure!(code == 0, "{code}");
        deeds::all(&mut raw)
    }

    /// That each deed of who shows that has the outcome that it has without Skein; those outcomes.
    fn same(&self, at: &Tunnel, through: &Shown, direct: &Shown) -> Result<Outcomes> {
        let (through, direct) = (self.tried(at, through)?, self.tried(&self.direct, direct)?);
        let differs = |(deed, outcome): (&String, &String)| {
            let other = through.get(deed).map_or("nothing", String::as_str);
            (outcome != other).then(|| format!("{deed}: {outcome} and {other}"))
        };
        let found: Vec<_> = direct.iter().filter_map(differs).collect();
        ensure!(found.is_empty(), "direct and through:\n{}", found.join("\n"));
        ensure!(direct.len() == through.len(), "{} deeds and {}", direct.len(), through.len());
        Ok(direct)
    }
}

fn start() -> Result<Cluster> {
    let cluster = Cluster::start(&Spec::new("ruled", &[7], Security::Guarded))?;
    cluster.admin()?.add(&rules())?;
    serve_skein(&cluster)?;
    let tunnel = direct(&cluster)?;
    let mut raw = Raw::connect(tunnel.address)?;
    ensure!(raw.log_in(&at_cluster("skein"))? == 0);
    let topic = |name: &&str| {
        let name = TopicName(StrBytes::from_string(name.to_string()));
        CreatableTopic::default().with_name(name).with_num_partitions(1).with_replication_factor(1)
    };
    let new = CreateTopicsRequest::default().with_topics(TOPICS.iter().map(topic).collect());
    let made = raw.call(7, &new.with_timeout_ms(10_000))?;
    ensure!(made.topics.iter().all(|topic| topic.error_code == 0), "{made:?}");
    // Coordinators are there a while after they were first asked for, and transactional ids for ever once they were used.
    process::until("coordinators", PATIENCE, || Ok(deeds::are_done(&deeds::all(&mut raw)?).then_some(())))?;
    Ok(cluster)
}

fn tunnel(cluster: &Cluster, to: SocketAddr) -> Result<Tunnel> {
    Dialer::new("127.0.0.1", &cluster.guard()?.authority.certificate(), None)?.tunnel(to, b"")
}

fn direct(cluster: &Cluster) -> Result<Tunnel> {
    tunnel(cluster, *cluster.nodes().values().next().context("no node")?)
}

fn at_cluster(user: &str) -> Shown {
    Shown::plain(user, &cluster::password(user))
}

fn at_skein(user: &str) -> Shown {
    Shown::plain(user, &password_at_skein(user))
}

/// How a login there ends.
fn ends(at: &Tunnel, shown: &Shown) -> Result<i16> {
    Raw::connect(at.address)?.log_in(shown)
}

/// Skein before the cluster, whose clients' logins become those of the lines `login`.
struct Before {
    skein: Skein,
    at: Tunnel,
}

impl Before {
    fn start(cluster: &Cluster, login: &str, entry: &str) -> Result<Self> {
        let front =
            Front::of(cluster).cluster(&upstream(cluster, login)?).listener(&shown(&certificate(cluster, "skein")?));
        let skein = Skein::start(&front.listener(entry).text()?)?;
        let at = tunnel(cluster, skein.bootstrap().parse()?)?;
        Ok(Self { skein, at })
    }

    /// Each principal by a login of her own at the cluster, and of a kind of its own; dave has none.
    fn mapping(cluster: &Cluster, clients: &str) -> Result<Self> {
        let names = [PRINCIPALS.as_slice(), &["dave"]].concat();
        let passwords: Vec<_> = names.iter().map(|name| (*name, password_at_skein(name))).collect();
        let users: Vec<_> = passwords.iter().map(|(name, password)| (*name, password.as_str())).collect();
        let users = Users::of(&users)?;
        let by_password = |user: &str, mechanism: &str| {
            let password = cluster::password(user);
            format!("map.{user} = {{ mechanism = \"{mechanism}\", username = \"{user}\", password = \"{password}\" }}")
        };
        let by_token = format!(
            "map.carol = {{ mechanism = \"OAUTHBEARER\", token-endpoint = \"{}\", client-id = \"carol\", client-secret = \"{}\" }}",
            cluster.guard()?.issuer.token_url(),
            cluster::password("carol")
        );
        let logins = [by_password("alice", "PLAIN"), by_password("bob", "SCRAM-SHA-256"), by_token].join("\n");
        let entry = format!("login = {{ mechanisms = [\"PLAIN\"], users = {:?} }}", users.path());
        Self::start(cluster, &format!("{clients}\n{logins}"), &entry)
    }

    /// That its log says so soon, and has no secret.
    fn has_told(&self, what: &str) -> Result<()> {
        let says = || Ok(self.skein.log().contains(what).then_some(()));
        process::until(what, PATIENCE, says).with_context(|| self.skein.log())?;
        let log = self.skein.log();
        ensure!(!log.contains("secret") && !log.contains("not-the-password"), "a secret is in the log: {log}");
        Ok(())
    }

    /// Clients by what they show, to tokens of one audience or another.
    fn passing_on(cluster: &Cluster) -> Result<Self> {
        let tokens = tokens(cluster)?.replace("audience = [", "audience = [\"others\", ");
        let entry = format!("login = {{ mechanisms = [\"PLAIN\", \"OAUTHBEARER\"], tokens = {tokens} }}");
        Self::start(cluster, "clients = \"pass-on\"", &entry)
    }
}

#[test]
fn the_clusters_rules_hold_for_each_mapped_principal() -> Result<()> {
    let ruled = Ruled::turn()?;
    let before = Before::mapping(ruled.cluster, "clients = \"map\"")?;
    let same = |who: &str| ruled.same(&before.at, &at_skein(who), &at_cluster(who)).with_context(|| who.to_owned());
    let seen: Vec<_> = PRINCIPALS.into_iter().map(same).collect::<Result<_>>()?;
    // The rules tell them apart, and each may do some things and not others.
    let differ =
        |one: &Outcomes, other: &Outcomes| one.iter().filter(|(deed, is)| other.get(*deed) != Some(is)).count();
    for (index, one) in seen.iter().enumerate() {
        ensure!(one.len() >= 60, "{} deeds only", one.len());
        for other in seen.iter().skip(index + 1) {
            ensure!(differ(one, other) >= 20, "{} deeds differ only", differ(one, other));
        }
    }
    for code in ["29", "30", "31", "53"] {
        let is_there = |outcome: &String| outcome.contains(&format!("\"{code}\""));
        ensure!(seen.iter().any(|one| one.values().any(is_there)), "nothing ends with {code}");
    }
    // Nobody stands for dave, and the password of the cluster is none here.
    ensure!(ends(&before.at, &at_skein("dave"))? == REFUSED);
    ensure!(ends(&before.at, &at_cluster("alice"))? == REFUSED);
    before.has_told("has no login for this principal")
}

#[test]
fn who_is_not_mapped_may_be_spoken_for_by_skein() -> Result<()> {
    let ruled = Ruled::turn()?;
    let before = Before::mapping(ruled.cluster, &format!("clients = \"map-or-service\"\n{}", service()))?;
    ruled.same(&before.at, &at_skein("dave"), &at_cluster("skein"))?;
    ruled.same(&before.at, &at_skein("bob"), &at_cluster("bob")).map(drop)
}

#[test]
fn the_cluster_judges_what_is_passed_on() -> Result<()> {
    let ruled = Ruled::turn()?;
    let before = Before::passing_on(ruled.cluster)?;
    let issuer = &ruled.cluster.guard()?.issuer;
    let token = |claims: Claims| anyhow::Ok(Shown::Token(issuer.mint(&claims)?));
    for shown in [at_cluster("alice"), at_cluster("bob"), token(Claims::of("carol"))?] {
        ruled.same(&before.at, &shown, &shown)?;
    }
    // Skein takes a token for these others, and the cluster does not.
    let others = token(Claims::of("alice").for_audience("others"))?;
    for wrong in [Shown::plain("alice", "not-the-password"), Shown::plain("nobody", "x"), others] {
        ensure!(ends(&ruled.direct, &wrong)? == REFUSED && ends(&before.at, &wrong)? == REFUSED);
        before.has_told("does not take it")?;
    }
    ensure!(ends(&before.at, &token(Claims::of("alice").for_audience("elsewhere"))?)? == REFUSED);
    before.has_told("the token is for another audience")
}
