//! Passwords as they are typed: seen by nobody, and never an argument, which every process of the machine could read.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use skein_login::MOST_PASSWORD;
use skein_settings::Secret;

use super::wrong::Wrong;

/// A new password: typed twice at a terminal, or the first line of standard input.
pub(super) fn new() -> Result<Secret, Wrong> {
    if !io::stdin().is_terminal() {
        return line();
    }
    let typed = ask("Password: ")?;
    if ask("The same again: ")? == typed { Ok(typed) } else { Err(Wrong::new("the two are not the same")) }
}

fn ask(for_it: &str) -> Result<Secret, Wrong> {
    let silent = Silence::begin()?;
    let mut prompt = io::stderr();
    let asked = prompt.write_all(for_it.as_bytes()).and_then(|()| prompt.flush());
    asked.map_err(|error| Wrong::new(format!("standard error cannot be written: {error}")))?;
    let typed = line();
    drop(silent);
    // The end of the line was not shown either.
    let _ = prompt.write_all(b"\n");
    typed
}

/// A line of standard input, without its end.
fn line() -> Result<Secret, Wrong> {
    let most = u64::try_from(MOST_PASSWORD).unwrap_or(u64::MAX).saturating_add(2);
    let mut line = zeroize::Zeroizing::new(Vec::new());
    let read = io::stdin().lock().take(most).read_until(b'\n', &mut line);
    read.map_err(|error| Wrong::new(format!("no password can be read: {error}")))?;
    let text = std::str::from_utf8(&line).map_err(|_| Wrong::new("the password is no UTF-8"))?;
    let text = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    Ok(Secret::new(text))
}

/// A terminal that does not show what is typed, until this is dropped.
struct Silence(Termios);

impl Silence {
    fn begin() -> Result<Self, Wrong> {
        let wrong = |error| Wrong::new(format!("the terminal cannot be kept from showing what is typed: {error}"));
        let before = tcgetattr(io::stdin()).map_err(wrong)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        // What was typed before, and shown, is no part of it.
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent).map_err(wrong)?;
        Ok(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
