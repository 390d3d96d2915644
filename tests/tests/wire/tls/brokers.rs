//! TLS towards brokers: whom Skein believes, and what it says of whom it does not.

use super::*;

/// A cluster whose brokers speak TLS, by names in a certificate.
struct Guarded {
    fake: Fake,
    tunnels: [Tunnel; 2],
}

fn guarded(identity: &Identity, clients: Option<&Authority>) -> Result<Guarded> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
    let ca = clients.map(Authority::certificate);
    let tunnel = |node| before(fake.address(node)?, identity, ca.as_deref());
    let tunnels = [tunnel(1)?, tunnel(7)?];
    Ok(Guarded { fake, tunnels })
}

impl Guarded {
    /// The file of a Skein in front of it.
    fn file(&self, host: &str, first: u16, tls: &str) -> String {
        let [one, seven] = [0, 1].map(|at| format!("{host}:{}", self.tunnels[at].address.port()));
        let cluster = format!("addresses = {{ 1 = \"{one}\", 7 = \"{seven}\" }}\n{tls}");
        let text = file(&self.fake, first, &cluster, "");
        let bootstrap = text.lines().find(|line| line.starts_with("bootstrap")).unwrap_or_default().to_owned();
        text.replace(&bootstrap, &format!("bootstrap = [\"{one}\", \"{seven}\"]"))
    }

    fn live(&self, host: &str, tls: &str) -> Result<String> {
        let checked = skein::command(&self.file(host, ports::block(4)?, tls), "check", &["--live"])?;
        Ok(String::from_utf8(checked.stdout)? + &String::from_utf8(checked.stderr)?)
    }
}

#[test]
fn brokers_are_spoken_to_under_tls_and_their_names_are_checked() -> Result<()> {
    let authority = Authority::new(&workplace::run_dir("pki")?, "Tests")?;
    let broker = authority.issue("broker", &Leaf::server(&["localhost"]))?;
    let cluster = guarded(&broker, None)?;
    let first = ports::block(4)?;
    let ca = format!("tls.ca = {:?}\n", authority.certificate());
    let skein = Skein::start(&cluster.file("localhost", first, &ca))?;
    for (node, partition) in [(1, 0), (2, 1)] {
        let mut raw = Raw::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, first + node)))?;
        let answer = raw.call(12, &request::produce(12, &place(partition), -1, Batch::small(3).build()))?;
        assert_eq!(produced(&answer), 0, "{}", skein.log());
        let big = Batch::large(3 << 20).build();
        assert_eq!(produced(&raw.call(12, &request::produce(12, &place(partition), -1, big))?), 0);
    }
    assert!(cluster.live("localhost", &ca)?.contains("node 7 at localhost"));
    let others = Authority::new(&workplace::run_dir("others")?, "Others")?;
    let untrusted = format!("tls.ca = {:?}\n", others.certificate());
    let named = format!("{ca}tls.server-name = \"localhost\"\n");
    for (host, tls, wanted) in [
        ("127.0.0.1", &*ca, "its certificate is not for `127.0.0.1`"),
        ("127.0.0.1", &*named, "bootstrap address 127.0.0.1"),
        ("localhost", &*untrusted, "its certificate is of an unknown issuer"),
        ("localhost", "tls.versions = [\"1.3\"]\n", "its certificate is of an unknown issuer"),
        ("localhost", "", "it closes"),
    ] {
        let said = cluster.live(host, tls)?;
        assert!(
            said.contains(wanted) || wanted == "it closes" && said.contains("it speaks TLS"),
            "{host} {tls}: {said}"
        );
    }
    Ok(())
}

#[test]
fn what_a_broker_has_against_tls_is_told() -> Result<()> {
    let authority = Authority::new(&workplace::run_dir("pki")?, "Tests")?;
    let broker = authority.issue("broker", &Leaf::server(&["localhost"]))?;
    let ca = format!("tls.ca = {:?}\n", authority.certificate());
    let wants = guarded(&broker, Some(&authority))?;
    let said = wants.live("localhost", &ca)?;
    assert!(said.contains("it wants a certificate that it believes"), "{said}");
    let skein = authority.issue("skein", &Leaf::client("CN=skein"))?;
    let identity = format!("{ca}tls.certificate = {:?}\ntls.key = {:?}\n", skein.certificate, skein.key);
    let said = wants.live("localhost", &identity)?;
    assert!(said.contains("node 7 at localhost"), "{said}");
    let old = authority.issue("old", &Leaf::server(&["localhost"]).expired())?;
    let said = guarded(&old, None)?.live("localhost", &ca)?;
    assert!(said.contains("its certificate has expired"), "{said}");
    let plain = Fake::start(REAL_CLUSTER, &[1, 7])?;
    let checked = skein::command(&file(&plain, ports::block(4)?, &ca, ""), "check", &["--live"])?;
    let said = String::from_utf8(checked.stdout)?;
    assert!(said.contains("TLS"), "{said}");
    Ok(())
}

#[test]
fn one_graph_has_clusters_with_and_without_tls_and_of_two_authorities() -> Result<()> {
    let mut skeins = Vec::new();
    let mut clusters = Vec::new();
    let mut text = String::new();
    let mut firsts = Vec::new();
    for name in ["red", "blue"] {
        let authority = Authority::new(&workplace::run_dir(name)?, name)?;
        let cluster = guarded(&authority.issue("broker", &Leaf::server(&["localhost"]))?, None)?;
        let (first, ca) = (ports::block(4)?, authority.certificate());
        text += &named(&cluster.file("localhost", first, &format!("tls.ca = {ca:?}\n")), name);
        firsts.push(first);
        clusters.push(cluster);
    }
    let plain = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
    let first = ports::block(4)?;
    firsts.push(first);
    text += &named(&file(&plain, first, "", ""), "plain");
    skeins.push(Skein::start(&text)?);
    for first in firsts {
        let mut raw = Raw::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, first + 1)))?;
        assert_eq!(produced(&raw.call(12, &request::produce(12, &place(0), -1, Batch::small(1).build()))?), 0);
    }
    Ok(())
}

/// A file whose cluster and virtual cluster have other names.
fn named(text: &str, name: &str) -> String {
    let text = text
        .replace("clusters.one", &format!("clusters.{name}"))
        .replace("cluster = \"one\"", &format!("cluster = \"{name}\""));
    text.replace("virtual-clusters.main", &format!("virtual-clusters.v-{name}")).replace("main-1", name)
}
