//! Good files.

use std::fs;

use skein_config::{Blueprint, blueprint::Memory};
use skein_routing::graph::Limits;

use crate::{files, kinds, load, made, name};

fn loaded(name: &str, text: &str) -> Blueprint {
    load(name, text.as_bytes()).unwrap_or_else(|faults| panic!("{}", faults.report(skein_config::Colours::No)))
}

#[test]
fn every_example_is_accepted() {
    let examples = files("../examples");
    assert!(!examples.is_empty());
    for path in examples {
        loaded(&name(&path), &fs::read_to_string(&path).unwrap());
    }
    for (kind, example) in kinds().examples() {
        loaded(kind, example);
    }
}

#[test]
fn a_limit_that_is_not_set_is_what_the_code_has() {
    let blueprint = loaded("good", made::GOOD);
    assert_eq!(blueprint.memory, Memory::default());
    assert_eq!(format!("{:?}", blueprint.virtual_clusters[0].limits), format!("{:?}", Limits::default()));
}

#[test]
fn a_limit_that_is_set_is_read_with_its_unit() {
    let text = format!(
        "{}\n[virtual-clusters.main.limits]\nopen-requests = 0x10\nframe = \"10 MB\"\npatience = \"1m 30s\"\n\
         answer-margin = \"1500ms\"\n[limits]\nanswers-memory = \"1GiB\"\nidle-buffers = 0\n",
        made::GOOD
    );
    let blueprint = loaded("limits", &text);
    let limits = &blueprint.virtual_clusters[0].limits;
    assert_eq!((limits.open_requests, limits.frame), (16, 10_000_000));
    assert_eq!((limits.patience.as_secs(), limits.answer_margin.as_millis()), (90, 1500));
    assert_eq!(limits.frame_arrival, Limits::default().frame_arrival);
    assert_eq!((blueprint.memory.answers, blueprint.memory.idle_buffers), (1 << 30, 0));
}

#[test]
fn a_variable_of_the_environment_stands_for_its_value() {
    let text = made::GOOD.replace("kafka-1.example.com", "${KAFKA}").replace("main-1", "$${id}");
    let blueprint = loaded("environment", &text);
    assert_eq!(&*blueprint.clusters[0].bootstrap[0].host, "kafka.example.com");
    assert_eq!(blueprint.virtual_clusters[0].id, "${id}");
}

#[test]
fn one_port_on_two_addresses_is_no_clash() {
    let text = made::GOOD.replace("0.0.0.0:9092", "127.0.0.1:9092");
    let other = "[virtual-clusters.main.listeners.other]\nbind = \"127.0.0.2:9092\"\nadvertise = \"other\"\nports = \"9101-9103\"\n";
    let blueprint = loaded("two addresses", &format!("{text}\n{other}"));
    assert_eq!(blueprint.virtual_clusters[0].listeners.len(), 2);
}

#[test]
fn line_ends_and_marks_of_editors_change_nothing() {
    loaded("crlf", &made::GOOD.replace('\n', "\r\n"));
    loaded("bom", &format!("\u{feff}{}", made::GOOD));
}
