//! The screen: a picture of what runs, what was counted, what to try, and what was logged.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::circuit::Bytes;
use super::clients::PRODUCERS;
use super::invitation;
use super::operator::{BROKER, Broker, Health};
use super::view::{View, grouped, milliseconds};

/// The widest that is of use.
const WIDTH: u16 = 110;

/// What lies over the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overlay {
    /// Nothing.
    None,
    /// What the keys do.
    Help,
    /// The configuration that Skein runs with.
    Configuration,
}

/// All that is drawn.
pub(super) struct Picture<'a> {
    /// Since the start.
    pub(super) uptime: Duration,
    /// One for each virtual cluster.
    pub(super) views: &'a [View],
    /// Log lines, oldest first.
    pub(super) journal: &'a [String],
    /// The configuration, TOML.
    pub(super) configuration: &'a str,
    /// What lies over it.
    pub(super) overlay: Overlay,
}

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, picture: &Picture<'_>) {
    let whole = frame.area();
    let area = Rect { width: whole.width.min(WIDTH), ..whole };
    let heights = picture.views.iter().map(|view| view.setting.brokers.max(2) + 4).map(Constraint::Length);
    let settings: Vec<_> = picture.views.iter().map(|view| view.setting).collect();
    let commands = Text::from_iter(invitation::commands(&settings));
    let high = u16::try_from(commands.height()).unwrap_or(u16::MAX).saturating_add(2);
    let rows = [Constraint::Length(1)].into_iter().chain(heights);
    let rows = rows.chain([Constraint::Length(high), Constraint::Min(3)]);
    let areas = Layout::vertical(rows).split(area);
    let mut areas = areas.iter().copied();
    let mut next = || areas.next().unwrap_or_default();
    frame.render_widget(head(picture), next());
    for view in picture.views {
        draw_view(frame, view, next());
    }
    frame.render_widget(Paragraph::new(commands).block(Block::bordered().title(" Try it ")), next());
    let log = next();
    let lines =
        picture.journal.iter().skip(picture.journal.len().saturating_sub(usize::from(log.height.saturating_sub(2))));
    let lines: Vec<Line<'_>> = lines.map(|line| Line::raw(line.trim_start())).collect();
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" Log ")), log);
    draw_overlay(frame, picture, area);
}

fn head<'a>(picture: &Picture<'_>) -> Line<'a> {
    let seconds = picture.uptime.as_secs();
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    Line::from(vec![
        " Skein ".bold().reversed(),
        format!("  all in one process, for {minutes}:{seconds:02}   ").into(),
        key("q"),
        " quit  ".into(),
        key("k"),
        format!(" broker {BROKER} out or back  ").into(),
        key("c"),
        " configuration  ".into(),
        key("?"),
        " help".into(),
    ])
}

fn key(name: &str) -> Span<'_> {
    Span::raw(name).bold().fg(Color::Cyan)
}

fn draw_view(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let block = Block::bordered().title(format!(" {} ", view.setting.name).bold());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [picture, counts] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(inner);
    let columns = [Constraint::Length(26), Constraint::Length(28), Constraint::Length(18), Constraint::Min(30)];
    let [clients, skein, cluster, nodes] = Layout::horizontal(columns).areas(picture);
    let rates = &view.rates;
    let latency = view.latency.map_or_else(String::new, |(median, _)| milliseconds(median));
    let worst = view.latency.map_or_else(String::new, |(_, worst)| milliseconds(worst));
    let text = vec![
        Line::raw("clients").dim(),
        Line::raw(format!("{PRODUCERS} producers {:>7}/s ──►", grouped(rates.acknowledged))),
        Line::raw(format!("1 group     {:>7}/s ◄──", grouped(rates.arrived))),
    ];
    frame.render_widget(Paragraph::new(text), clients);
    let text = vec![
        Line::raw("virtual cluster").dim(),
        Line::raw(format!("{}    ──►", view.setting.bootstrap())),
        Line::raw(format!("produce {latency}, p99 {worst}")),
    ];
    frame.render_widget(Paragraph::new(text), skein);
    frame.render_widget(Paragraph::new(cluster_lines(view)), cluster);
    frame.render_widget(Paragraph::new(node_lines(view)), nodes);
    frame.render_widget(counted(view), counts);
}

fn cluster_lines(view: &View) -> Vec<Line<'_>> {
    let (state, detail) = match &view.health {
        Health::Unknown => ("is asked".dim(), String::new()),
        Health::Answers(_, time) => ("healthy".fg(Color::Green), format!("answers in {}", milliseconds(*time))),
        Health::Silent(reason) => ("silent".fg(Color::Red), reason.clone()),
    };
    let name = Span::raw(format!("{}: ", view.setting.cluster));
    vec![Line::raw("cluster").dim(), Line::from(vec![name, state]), Line::raw(detail)]
}

/// Why a node is shown in which colour.
fn node_state(view: &View, node: i32) -> (&'static str, Style) {
    let (good, warning, bad) =
        (Style::new().fg(Color::Green), Style::new().fg(Color::Yellow), Style::new().fg(Color::Red));
    match &view.health {
        Health::Answers(nodes, _) if !nodes.contains(&node) => ("○ down   ", bad),
        _ if node == BROKER && view.broker == Broker::Leaving => ("◐ leaving", warning),
        Health::Answers(..) => ("● up     ", good),
        Health::Unknown => ("? unknown", Style::new()),
        Health::Silent(_) => ("? silent ", bad),
    }
}

fn node_lines(view: &View) -> Vec<Line<'static>> {
    let head = Line::raw("nodes              in         out").dim();
    let nodes = (1..=view.setting.brokers).map(|node| {
        let id = i32::from(node);
        let (state, style) = node_state(view, id);
        let Bytes { up, down } = view.rates.nodes.get(&id).copied().unwrap_or_default();
        let rates = format!("  {:>10}  {:>10}", bytes(up), bytes(down));
        Line::from(vec![Span::raw(format!("{node} ")), Span::styled(state, style), Span::raw(rates)])
    });
    std::iter::once(head).chain(nodes).collect()
}

fn bytes(per_second: u64) -> String {
    if per_second < 10_000 {
        format!("{} B/s", grouped(per_second))
    } else {
        format!("{} kB/s", grouped(per_second / 1000))
    }
}

/// The counts: those that must be 0 stand out when they are not.
fn counted(view: &View) -> Line<'static> {
    let tally = &view.tally;
    let plain = |name: &str, count| Span::raw(format!("{name} {}  ", grouped(count)));
    let zero = |name: &'static str, count: u64| {
        let text = Span::raw(format!("{name} {}  ", grouped(count)));
        if count == 0 { text.fg(Color::Green) } else { text.bold().fg(Color::White).bg(Color::Red) }
    };
    Line::from(vec![
        plain("acknowledged", tally.acknowledged),
        plain("arrived", tally.arrived),
        plain("on the way", tally.on_the_way),
        zero("lost", tally.lost),
        zero("twice", tally.twice),
        zero("out of order", tally.out_of_order),
    ])
}

fn draw_overlay(frame: &mut Frame<'_>, picture: &Picture<'_>, area: Rect) {
    let (title, text) = match picture.overlay {
        Overlay::None => return,
        Overlay::Help => (" Help ", HELP),
        Overlay::Configuration => (" The configuration that Skein runs with ", picture.configuration),
    };
    let [over] = Layout::vertical([Constraint::Percentage(90)]).areas(area);
    frame.render_widget(Clear, over);
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }).block(Block::bordered().title(title)), over);
}

const HELP: &str = "\
Two Kafka clusters run inside this process: librdkafka's mock clusters, with 3 brokers and 1. Skein stands in front, and
gives each a virtual cluster. Two idempotent producers and a consumer group use each, and know no other address.

Every record is numbered and checked:
  lost          acknowledged and passed over by its consumer
  twice         read more than once
  out of order  read after a record of the same producer and partition that was written later
All three must be 0, whatever you do.

in and out are bytes on the clients' connections to each node; produce is the time from a producer's hand to the
acknowledgement, with a millisecond of the producer's own waiting in it.

  k   takes broker 1 of the first cluster out, or brings it back. It leaves as Kafka's brokers do when stopped: others
      take its partitions over, then its port closes. Clients that had it reconnect, through Skein, and go on.
  c   the configuration that Skein runs with
  q   ends all of it, Ctrl-C too
  ?   closes this";

#[cfg(test)]
mod tests;
