//! The admin listener: what it says, and that it says nothing else.

use std::io::Write;
use std::net::TcpStream;

use anyhow::{Result, ensure};
use serde_json::Value;
use skein_tests::apis::PRODUCE;
use skein_tests::batch::Batch;
use skein_tests::fake::{Action, Fake, Gate};
use skein_tests::raw::Request;
use skein_tests::raw::request::{self, Introduction, Place};
use skein_tests::{http, process, skein};

use crate::stage::{HANG, REAL_CLUSTER, SOON, Stage};

fn json(stage: &Stage, path: &str) -> Result<(u16, Value)> {
    let answer = http::get(stage.admin(), path)?;
    Ok((answer.code, serde_json::from_str(&answer.body)?))
}

fn produce(place: &Place) -> Result<Request> {
    Request::of(9, &request::produce(9, place, -1, Batch::small(1).build()))
}

#[test]
fn it_is_ready_until_it_drains_and_lives_until_it_ends() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    assert_eq!(http::get(stage.admin(), "/livez")?.code, 200);
    let (code, body) = json(&stage, "/readyz")?;
    assert_eq!((code, &body["ready"], &body["draining"]), (200, &true.into(), &false.into()));
    let gate = Gate::new();
    stage.fake.on_next(PRODUCE, Action::Hold(gate.clone()));
    let mut raw = stage.node(1)?;
    raw.send(&produce(&place)?)?;
    stage.fake.wait_for_count(PRODUCE, 1, SOON)?;
    stage.skein.signal("TERM")?;
    process::until("a drain", SOON, || Ok((json(&stage, "/readyz")?.0 == 503).then_some(())))?;
    let (_, body) = json(&stage, "/readyz")?;
    assert_eq!((&body["ready"], &body["draining"]), (&false.into(), &true.into()));
    assert_eq!(http::get(stage.admin(), "/livez")?.code, 200);
    process::until("the drained connection", SOON, || {
        Ok((json(&stage, "/status")?.1["connections_of_former_virtual_clusters"] == 1).then_some(()))
    })?;
    gate.open();
    raw.receive(SOON)?;
    drop(raw);
    assert_eq!(stage.skein.ended(SOON)?.code(), Some(0));
    Ok(())
}

#[test]
fn it_only_tells() -> Result<()> {
    let stage = Stage::new()?;
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let answer = http::ask(stage.admin(), &format!("{method} /livez HTTP/1.1\r\nHost: skein\r\n\r\n"))?;
        assert_eq!(answer.code, 405, "{method}");
        ensure!(answer.head.to_lowercase().contains("allow: get, head"), "{}", answer.head);
    }
    assert_eq!(http::get(stage.admin(), "/nothing")?.code, 404);
    ensure!(http::get(stage.admin(), "/graph")?.body.starts_with("flowchart"));
    let (_, config) = json(&stage, "/config")?;
    assert_eq!(config["clusters"]["one"]["nodes"], "1, 7, 1001");
    let head = http::ask(stage.admin(), "HEAD /metrics HTTP/1.1\r\nHost: skein\r\n\r\n")?;
    assert_eq!((head.code, head.body.as_str()), (200, ""));
    assert_eq!(http::ask(stage.admin(), &format!("GET /{} HTTP/1.1\r\n", "x".repeat(40_000)))?.code, 431);
    Ok(())
}

#[test]
fn those_who_say_nothing_keep_nobody_out() -> Result<()> {
    let stage = Stage::new()?;
    let silent = |count: usize| -> Result<Vec<TcpStream>> {
        let one = |_| {
            let mut stream = TcpStream::connect(stage.admin())?;
            stream.write_all(b"GET /metrics")?;
            Ok(stream)
        };
        (0..count).map(one).collect()
    };
    let mut all = silent(400)?;
    for _ in 0..20 {
        // Each probe comes among more of them.
        all.extend(silent(20)?);
        assert_eq!(http::get(stage.admin(), "/livez")?.code, 200);
    }
    stage.serves_others()
}

#[test]
fn what_happens_is_counted() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let of = r#"{virtual_cluster="main",listener="plain""#;
    let before = stage.metric(&format!("skein_connections_accepted_total{of}}}"))?;
    let mut raw = stage.node(1)?;
    for _ in 0..7 {
        raw.ask(&produce(&place)?)?;
    }
    let bytes = u32::try_from(produce(&place)?.frame().len())?;
    assert_eq!(stage.metric(&format!(r#"skein_requests_total{of},api="Produce"}}"#))?, 7.0);
    assert_eq!(stage.metric(&format!(r#"skein_request_bytes_total{of},api="Produce"}}"#))?, 7.0 * f64::from(bytes));
    assert_eq!(stage.metric(&format!("skein_connections_accepted_total{of}}}"))?, before + 1.0);
    ensure!(stage.metric(r#"skein_broker_latency_seconds_count{cluster="one"}"#)? >= 1.0);
    ensure!(stage.metric(r#"skein_broker_sent_bytes_total{cluster="one"}"#)? >= 7.0 * f64::from(bytes));
    stage.counts(&format!("skein_connections_open{of}}}"), |open| open == 1.0)?;
    stage.fake.on_next(PRODUCE, Action::Close);
    raw.ask(&produce(&place)?)?;
    assert_eq!(stage.metric(r#"skein_links_lost_total{cluster="one",node="1",reason="broken"}"#)?, 1.0);
    let refused = r#"skein_refusals_total{virtual_cluster="main",api="Produce",reason="REQUEST_TIMED_OUT"}"#;
    assert_eq!(stage.metric(refused)?, 1.0);
    drop(raw);
    stage.counts(&format!(r#"skein_connections_closed_total{of},reason="client_left"}}"#), |closed| closed >= 1.0)?;
    stage.counts(&format!("skein_connections_open{of}}}"), |open| open == 0.0)?;
    stage.counts(r#"skein_links_open{cluster="one"}"#, |open| open == 0.0)
}

#[test]
fn no_client_makes_a_series() -> Result<()> {
    let stage = Stage::new()?;
    let hello = Introduction { software_name: "marked-software", ..Introduction::default() };
    let mut raw = stage.bootstrap()?;
    raw.ask(&request::api_versions(3, &hello).client_id(Some("marked-client")))?;
    raw.ask(&Request::of(12, &request::metadata(12, Some(&["marked-topic"])))?)?;
    raw.send(&Request::new(12_345, 0, Vec::new()))?;
    raw.closed(SOON)?;
    let mut raw = stage.node(1)?;
    raw.send(&Request::new(101, 0, Vec::new()))?;
    raw.closed(SOON)?;
    let text = http::get(stage.admin(), "/metrics")?.body;
    ensure!(!text.contains("marked") && !text.contains("12345"), "{text}");
    Ok(())
}

#[test]
fn the_health_of_brokers_is_told() -> Result<()> {
    let mut stage = Stage::new()?;
    let up = |stage: &Stage, node: i32, up: bool| {
        process::until("health", HANG, || {
            let (_, status) = json(stage, "/status")?;
            Ok((status["clusters"]["one"]["nodes"][node.to_string()]["up"] == up).then_some(()))
        })
    };
    stage.bootstrap()?.call(12, &request::metadata(12, None))?;
    up(&stage, 1, true)?;
    up(&stage, 7, true)?;
    assert_eq!(stage.metric(r#"skein_node_up{cluster="one",node="7"}"#)?, 1.0);
    ensure!(stage.metric(r#"skein_node_round_trip_seconds{cluster="one",node="7"}"#)? > 0.0);
    stage.fake.kill(7)?;
    up(&stage, 7, false)?;
    up(&stage, 1, true)?;
    let (code, ready) = json(&stage, "/readyz")?;
    assert_eq!((code, &ready["clusters"]["one"]["nodes_up"]), (200, &1.into()));
    let (_, status) = json(&stage, "/status")?;
    assert_eq!(status["clusters"]["one"]["cluster_id"], REAL_CLUSTER);
    assert_eq!(status["virtual_clusters"]["main"]["clusters"][0], "one");
    ensure!(status["clusters"]["one"]["versions"]["Produce"].is_array(), "{status}");
    Ok(())
}

#[test]
fn what_wants_a_restart_is_said() -> Result<()> {
    let mut stage = Stage::new()?;
    let more = stage.file()? + "\n[limits]\nrequests-memory = \"512MiB\"\n";
    stage.skein.rewrite(&more)?;
    stage.skein.signal("HUP")?;
    let line = r#"a restart is needed for what the file says now of these tables tables="[admin], [limits]""#;
    process::until(line, SOON, || Ok(stage.skein.log().contains(line).then_some(())))
}

#[test]
fn a_cluster_that_cannot_be_reached_is_named_with_the_reason() -> Result<()> {
    let mut fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
    fake.kill(1)?;
    fake.kill(7)?;
    let mut stage = Stage::before(fake)?;
    let line = r#"cluster not reached cluster="one" error="127.0.0.1:"#;
    process::until(line, SOON, || Ok(stage.skein.log().contains(line).then_some(())))?;
    stage.counts(r#"skein_clusters_lost_total{cluster="one"}"#, |count| count == 1.0)?;
    stage.fake.restart(1)?;
    stage.metadata()?;
    let again = r#"cluster reached again cluster="one""#;
    process::until(again, SOON, || Ok(stage.skein.log().contains(again).then_some(())))
}

#[test]
fn reloads_are_counted_and_what_is_gone_is_forgotten() -> Result<()> {
    let mut stage = Stage::new()?;
    stage.place(0)?;
    stage.skein.rewrite("[")?;
    stage.skein.signal("HUP")?;
    stage.counts(r#"skein_reloads_total{reason="faulty"}"#, |count| count == 1.0)?;
    let renamed = stage.file()?.replace("virtual-clusters.main", "virtual-clusters.renamed");
    stage.skein.rewrite(&renamed)?;
    stage.skein.signal("HUP")?;
    stage.counts(r#"skein_reloads_total{reason="taken_over"}"#, |count| count == 1.0)?;
    forgotten(&stage)
}

/// Waits until there is no series of the virtual cluster `main`.
fn forgotten(stage: &Stage) -> Result<()> {
    process::until("series that are forgotten", SOON, || {
        let text = http::get(stage.admin(), "/metrics")?.body;
        Ok((!text.contains(r#""main""#)).then_some(()))
    })
}

#[test]
fn what_is_gone_is_counted_until_its_last_connection_has_ended() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    let of = r#"{virtual_cluster="main",listener="plain""#;
    stage.counts(&format!("skein_connections_open{of}}}"), |open| open == 0.0)?;
    let gate = Gate::new();
    stage.fake.on_next(PRODUCE, Action::Hold(gate.clone()));
    let mut raw = stage.node(1)?;
    raw.send(&produce(&place)?)?;
    stage.fake.wait_for_count(PRODUCE, 1, SOON)?;
    let gone = stage
        .file()?
        .replace("virtual-clusters.main", "virtual-clusters.renamed")
        .replace("clusters.one", "clusters.two");
    stage.skein.rewrite(&gone.replace("\"one\"", "\"two\""))?;
    stage.skein.signal("HUP")?;
    stage.counts(r#"skein_reloads_total{reason="taken_over"}"#, |count| count == 1.0)?;
    assert_eq!(stage.metric(&format!("skein_connections_open{of}}}"))?, 1.0);
    assert_eq!(stage.metric(r#"skein_links_open{cluster="one"}"#)?, 1.0);
    gate.open();
    raw.until_closed(SOON)?;
    forgotten(&stage)?;
    ensure!(!http::get(stage.admin(), "/metrics")?.body.contains(r#"cluster="one""#));
    Ok(())
}

#[test]
fn who_asks_at_the_same_time_is_told_the_same() -> Result<()> {
    let stage = Stage::new()?;
    let up = r#"skein_node_up{cluster="one",node="7"} 1"#;
    process::until(up, HANG, || Ok(http::get(stage.admin(), "/metrics")?.body.contains(up).then_some(())))?;
    let ask = || -> Result<()> {
        for _ in 0..150 {
            let text = http::get(stage.admin(), "/metrics")?.body;
            ensure!(text.contains(up), "a broker is missing");
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let asking = [(); 8].map(|()| scope.spawn(ask));
        asking.into_iter().try_for_each(|asking| asking.join().unwrap_or_else(|_| panic!("it failed")))
    })
}

#[test]
fn the_command_says_what_the_listener_does() -> Result<()> {
    let stage = Stage::new()?;
    process::until("a broker that was asked", HANG, || {
        let said = skein::ask(&["status", "--admin", &stage.admin().to_string()])?;
        ensure!(said.status.success(), "{said:?}");
        let text = String::from_utf8(said.stdout)?;
        ensure!(
            text.contains(", ready\nvirtual cluster main: ") && text.contains("node 1001: where it is is not known"),
            "{text}"
        );
        Ok(text.contains("node 1 at 127.0.0.1:").then_some(()).filter(|()| text.contains(": up, ")))
    })?;
    let json = skein::ask(&["status", "--format", "json", "--admin", &stage.admin().to_string()])?;
    let json: serde_json::Value = serde_json::from_slice(&json.stdout)?;
    assert_eq!(json["clusters"]["one"]["cluster_id"], REAL_CLUSTER);
    let nobody = skein::ask(&["status", "--admin", "127.0.0.1:1"])?;
    assert_eq!(nobody.status.code(), Some(1));
    assert!(String::from_utf8(nobody.stderr)?.contains("no status from 127.0.0.1:1"));
    Ok(())
}
