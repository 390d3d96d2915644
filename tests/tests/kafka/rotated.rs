//! Certificates, users, keys of tokens and Skein's own password change while clients write and read: none of them notices.
//!
//! Once for every change; with `SKEIN_ROTATIONS=20`, say, that often.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Result, ensure};
use skein_tests::{
    client::{Access, DOMAIN, Endpoint, Family, Mechanism, Way},
    cluster::{self, Cluster, Scram, Security, Spec, USER},
    issuer::{Claims, Signature},
    process,
    raw::{Raw, Shown},
    skein::{Addressing, Form, Gatehouse, password_at_skein},
    tls::Dialer,
    workplace,
};

use crate::chaos::Load;
use crate::fronted::serve_skein;
use crate::secured::{connects, stays};

/// A change is noticed within seconds.
const SOON: Duration = Duration::from_secs(15);

/// How long clients stay for each rotation.
const STAYING: Duration = Duration::from_secs(12);

/// A guarded cluster and Skein before it, whose password at the cluster is in a file.
struct Rotating {
    cluster: Cluster,
    gatehouse: Gatehouse,
    password: PathBuf,
}

impl Rotating {
    fn start() -> Result<Self> {
        let cluster = Cluster::start(&Spec::new("rotating", &[7], Security::Guarded))?;
        serve_skein(&cluster)?;
        let password = workplace::run_dir("service")?.join("password");
        fs::write(&password, cluster::password("skein"))?;
        let file = password.display();
        let login = format!("mechanism = \"SCRAM-SHA-512\"\nusername = \"skein\"\npassword = \"file:{file}\"");
        Ok(Self { gatehouse: Gatehouse::start(&cluster, Form::Bare, &login)?, cluster, password })
    }

    fn dialer(&self) -> Result<Dialer> {
        Dialer::new(&format!("main.{DOMAIN}"), &self.cluster.guard()?.authority.certificate(), None)
    }

    /// How a login by that ends at Skein.
    fn ends(&self, shown: &Shown) -> Result<i16> {
        let tunnel = self.dialer()?.tunnel(self.gatehouse.skein.bootstrap().parse()?, b"")?;
        Raw::connect(tunnel.address)?.log_in(shown)
    }

    /// New connections are shown a new certificate, with a new key.
    fn certificate(&self) -> Result<()> {
        let (dialer, at) = (self.dialer()?, self.gatehouse.skein.bootstrap().parse()?);
        let before = dialer.shake(at)?;
        self.gatehouse.renew_certificate(&self.cluster)?;
        process::until("the new certificate", SOON, || Ok((dialer.shake(at)? != before).then_some(())))
    }

    /// Bob comes and goes, and alice's password gets another salt.
    fn users(&self) -> Result<()> {
        let (alice, bob) = (password_at_skein(USER), Shown::plain("bob", "bobs"));
        self.gatehouse.users.set(&[(USER, &alice), ("bob", "bobs")])?;
        process::until("bob", SOON, || Ok((self.ends(&bob)? == 0).then_some(())))?;
        self.gatehouse.users.set(&[(USER, &alice)])?;
        process::until("bob's end", SOON, || Ok((self.ends(&bob)? != 0).then_some(())))?;
        ensure!(self.ends(&Shown::plain(USER, &alice))? == 0, "alice is out");
        Ok(())
    }

    /// Tokens are signed with a key that nobody has seen, and those of old keys are no longer good.
    fn keys(&self) -> Result<()> {
        let issuer = &self.cluster.guard()?.issuer;
        let old = Shown::Token(issuer.mint(&Claims::of(USER))?);
        issuer.rotate(Signature::Es256)?;
        let new = Shown::Token(issuer.mint(&Claims::of(USER))?);
        process::until("a token of the new key", SOON, || Ok((self.ends(&new)? == 0).then_some(())))?;
        ensure!(self.ends(&old)? == 0, "a token of the key before");
        Ok(())
    }

    /// The cluster takes another password only, and Skein is told it by its file.
    fn password(&self, number: u32) -> Result<()> {
        let password = format!("{}-secret", number + 2);
        self.cluster.admin()?.set_password("skein", Scram::Sha512, &password)?;
        let new = self.password.with_extension("new");
        fs::write(&new, password)?;
        Ok(fs::rename(new, &self.password)?)
    }
}

fn rotations() -> Result<u32> {
    Ok(std::env::var("SKEIN_ROTATIONS").map_or(Ok(1), |rotations| rotations.parse())?)
}

/// A writer by a password and by names, and one who writes and reads by tokens and by ports.
fn nobody_notices(writer: Family, staying: Family) -> Result<()> {
    let rotating = Rotating::start()?;
    let at = |way, by| rotating.gatehouse.alice(&rotating.cluster, way, by);
    let by_password = Way::Password(Mechanism::ScramSha256);
    let rotations = rotations()?;
    let mut load = Load::start(writer, at(by_password, Addressing::Sni)?)?;
    let stays = stays(staying, at(Way::Token, Addressing::Ports)?, STAYING * rotations)?;
    load.goes_on()?;
    for number in 0..rotations {
        rotating.certificate()?;
        load.goes_on()?;
        rotating.users()?;
        load.goes_on()?;
        rotating.keys()?;
        load.goes_on()?;
        rotating.password(number)?;
        load.goes_on()?;
        // Who comes now is shown the new certificate, judged by the new users and keys, and served over new links.
        connects(Family::FranzGo, at(by_password, Addressing::Sni)?)?;
        connects(Family::FranzGo, at(Way::Token, Addressing::Ports)?)?;
    }
    stays()?;
    let last = format!("{}-secret", rotations + 1);
    let direct = Access::password(Mechanism::ScramSha512, "skein", &last);
    let direct = direct.trusting(&rotating.cluster.guard()?.authority.certificate());
    load.compare(Endpoint::new(&rotating.cluster.bootstrap(), direct), Form::Bare)?;
    let log = rotating.gatehouse.skein.log();
    for sign in ["link lost", "broker not reached", "connection cut", "secret"] {
        ensure!(!log.contains(sign), "`{sign}` in {log}");
    }
    Ok(())
}

#[test]
fn nobody_notices_that_everything_changes() -> Result<()> {
    nobody_notices(Family::Librdkafka, Family::Java)
}
