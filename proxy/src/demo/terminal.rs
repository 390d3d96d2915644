//! The terminal: draws the screen four times a second and takes keys.

use std::io;
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, WrapErr};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use super::Demo;
use super::screen::{self, Overlay, Picture};

/// Between two drawings, unless a key comes.
const EVERY: Duration = Duration::from_millis(250);
/// Log lines that may be on the screen.
const LINES: usize = 50;

/// Puts the terminal back as it was when it is dropped; a panic does that too.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows the demo until somebody ends it.
///
/// # Errors
/// The terminal cannot be drawn on or read from.
pub(super) fn show(demo: &mut Demo) -> miette::Result<()> {
    let terminal = ratatui::try_init().into_diagnostic().wrap_err("the terminal cannot be drawn on");
    let _restored = Restored;
    shown(demo, terminal?).into_diagnostic()
}

fn shown(demo: &mut Demo, mut terminal: DefaultTerminal) -> io::Result<()> {
    let mut overlay = Overlay::None;
    while !demo.is_over() {
        let views = demo.views();
        let picture = Picture {
            uptime: demo.uptime(),
            views: &views,
            journal: &demo.journal.last(LINES),
            configuration: &demo.configuration,
            overlay,
        };
        terminal.draw(|frame| screen::draw(frame, &picture))?;
        let until = Instant::now() + EVERY;
        while let Some(key) = next_key(until)? {
            match key {
                Key::Quit => return Ok(()),
                Key::Broker => demo.toggle_broker(),
                Key::Show(what) => overlay = if overlay == what { Overlay::None } else { what },
            }
        }
    }
    Ok(())
}

/// What somebody wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Quit,
    Broker,
    Show(Overlay),
}

impl Key {
    fn of(event: &Event) -> Option<Self> {
        let pressed = event.as_key_event().filter(|key| key.kind != KeyEventKind::Release)?;
        let is = |letter| pressed.code == KeyCode::Char(letter);
        let known = [
            // In raw mode the terminal does not make a signal of it.
            (is('q') || is('c') && pressed.modifiers.contains(KeyModifiers::CONTROL), Self::Quit),
            (is('k'), Self::Broker),
            (is('c'), Self::Show(Overlay::Configuration)),
            (is('?'), Self::Show(Overlay::Help)),
        ];
        known.into_iter().find_map(|(is_it, key)| is_it.then_some(key))
    }
}

/// The next key that means something, if one comes in time.
fn next_key(until: Instant) -> io::Result<Option<Key>> {
    while event::poll(until.saturating_duration_since(Instant::now()))? {
        if let Some(key) = Key::of(&event::read()?) {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::KeyEvent;

    use super::*;

    fn pressed(letter: char, modifiers: KeyModifiers) -> Option<Key> {
        Key::of(&Event::Key(KeyEvent::new(KeyCode::Char(letter), modifiers)))
    }

    #[test]
    fn control_c_quits_and_c_shows_the_configuration() {
        assert_eq!(pressed('c', KeyModifiers::CONTROL), Some(Key::Quit));
        assert_eq!(pressed('c', KeyModifiers::NONE), Some(Key::Show(Overlay::Configuration)));
        assert_eq!(pressed('q', KeyModifiers::NONE), Some(Key::Quit));
        assert_eq!(pressed('k', KeyModifiers::NONE), Some(Key::Broker));
        assert_eq!(pressed('x', KeyModifiers::NONE), None);
    }
}
