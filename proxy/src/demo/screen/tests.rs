use std::collections::{BTreeMap, BTreeSet};

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::setting::SETTINGS;
use super::super::verifier::Tally;
use super::super::view::Rates;
use super::*;

/// The first cluster without its first broker, the second as it should be.
fn views() -> Vec<View> {
    let nodes = BTreeMap::from([(2, Bytes { up: 20_480, down: 18_000 }), (3, Bytes { up: 21_000, down: 17_500 })]);
    let tally = Tally { acknowledged: 12_345, arrived: 12_340, on_the_way: 5, ..Tally::default() };
    let view = View {
        setting: SETTINGS[0],
        tally,
        rates: Rates { acknowledged: 500, arrived: 498, nodes },
        latency: Some((Duration::from_micros(1520), Duration::from_micros(4100))),
        health: Health::Answers(BTreeSet::from([2, 3]), Duration::from_micros(800)),
        broker: Broker::Down,
    };
    let health = Health::Answers(BTreeSet::from([1]), Duration::from_micros(700));
    let other = View { setting: SETTINGS[1], rates: Rates::default(), health, broker: Broker::Up, ..view.clone() };
    vec![view, other]
}

fn drawn(views: &[View], overlay: Overlay) -> Terminal<TestBackend> {
    let journal = ["0.0s  INFO ready virtual_clusters=2 listeners=6".to_owned()];
    let uptime = Duration::from_secs(83);
    let picture = Picture { uptime, views, journal: &journal, configuration: "[clusters.east]", overlay };
    let mut terminal = Terminal::new(TestBackend::new(110, 26)).unwrap();
    terminal.draw(|frame| draw(frame, &picture)).unwrap();
    terminal
}

fn text(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let row =
        |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..buffer.area.height).map(row).collect()
}

#[test]
fn the_screen_is_as_it_was() {
    let seen = text(&drawn(&views(), Overlay::None));
    assert_eq!(seen, include_str!("snapshot.txt"), "if this is meant, it is the new screen/snapshot.txt:\n{seen}");
}

#[test]
fn what_must_be_zero_turns_red() {
    let is_red =
        |views: &[View]| drawn(views, Overlay::None).backend().buffer().content().iter().any(|c| c.bg == Color::Red);
    let mut views = views();
    assert!(!is_red(&views));
    views[1].tally.lost = 1;
    assert!(is_red(&views));
}

#[test]
fn overlays_say_what_was_asked_for() {
    assert!(text(&drawn(&views(), Overlay::Help)).contains("Ctrl-C"));
    assert!(text(&drawn(&views(), Overlay::Configuration)).contains("[clusters.east]"));
}

#[test]
fn a_terminal_of_any_size_is_drawn_on() {
    let views = views();
    for (width, height) in [(1, 1), (20, 5), (80, 24), (300, 100)] {
        let picture =
            Picture { uptime: Duration::ZERO, views: &views, journal: &[], configuration: "", overlay: Overlay::Help };
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &picture)).unwrap();
    }
}
