//! `skein user`: the file of users, changed as a whole or not at all.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use skein_link::files::read_at_most;
use skein_login::{Added, ITERATIONS, MOST_USERS_BYTES, USUAL_ITERATIONS, UserFile, Users};

use super::wrong::Wrong;
use super::{password, tools};

/// What is done with a file of users.
#[derive(Subcommand)]
pub(super) enum Change {
    /// Adds a user, or gives it another password: typed twice, or a line of standard input.
    Add {
        /// The file of users; it is made if it is not there.
        #[arg(long)]
        file: PathBuf,
        /// How often the password is hashed: more makes guessing slower, and logging in too.
        #[arg(long, value_name = "NUMBER", default_value_t = USUAL_ITERATIONS,
              value_parser = clap::value_parser!(u32).range(i64::from(*ITERATIONS.start())..=i64::from(*ITERATIONS.end())))]
        iterations: u32,
        /// The user, as clients name it.
        name: String,
    },
    /// Takes a user out.
    Remove {
        /// The file of users.
        #[arg(long)]
        file: PathBuf,
        /// The user.
        name: String,
    },
    /// Says who there is, and for which mechanisms.
    List {
        /// The file of users.
        #[arg(long)]
        file: PathBuf,
    },
}

/// Does it.
pub(super) fn change(change: Change) -> Result<ExitCode, Wrong> {
    match change {
        Change::Add { file, iterations, name } => {
            // Whatever is wrong with the file or the name is said before somebody types a password.
            let mut users = read(&file, Missing::IsEmpty)?;
            skein_login::name(&name).map_err(Wrong::new)?;
            let password = password::new()?;
            let added = users.add(&name, password.expose(), iterations).map_err(Wrong::new)?;
            write(&file, &users)?;
            let file = file.display();
            tools::print(&match added {
                Added::New => format!("{name} is added to {file}\n"),
                Added::Replaced => format!("{name} has a new password in {file}\n"),
            })
        }
        Change::Remove { file, name } => {
            let mut users = read(&file, Missing::IsWrong)?;
            if !users.remove(&name) {
                return Err(Wrong::new(format!("{} has no user {}", file.display(), skein_settings::quoted(&name))));
            }
            write(&file, &users)?;
            tools::print(&format!("{name} is taken out of {}\n", file.display()))
        }
        Change::List { file } => {
            let mut text = String::new();
            for user in read(&file, Missing::IsWrong)?.list() {
                let kept = user.kept.iter().map(|(mechanism, iterations)| format!("{mechanism} {iterations}"));
                let _ = writeln!(text, "{}  {}", user.name, kept.collect::<Vec<_>>().join(", "));
            }
            tools::print(&text)
        }
    }
}

/// What a file is that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    IsEmpty,
    IsWrong,
}

fn read(path: &Path, missing: Missing) -> Result<UserFile, Wrong> {
    let name = path.display();
    let bytes = match read_at_most(path, MOST_USERS_BYTES + 1) {
        Err(error) if error.kind() == ErrorKind::NotFound && missing == Missing::IsEmpty => Vec::new(),
        read => read.map_err(|error| Wrong::new(format!("{name} cannot be read: {error}")))?,
    };
    UserFile::parse(&bytes).map_err(|wrong| {
        let lines = wrong.faults.iter().map(|(line, fault)| format!("{name}:{line}: {}: {}", fault.what, fault.right));
        Wrong::new(lines.collect::<Vec<_>>().join("\n"))
    })
}

/// Puts a new file in the place of the old one: whoever reads it reads the one or the other. It belongs to whom the old one
/// belongs, and nobody but them and their group can read it.
fn write(path: &Path, users: &UserFile) -> Result<(), Wrong> {
    let text = users.to_string();
    // What Skein would not take is not written.
    Users::parse(text.as_bytes()).map_err(|wrong| Wrong::new(format!("it would have a fault: {wrong}")))?;
    // A link stays one.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut beside = place.clone().into_os_string();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = filled(&beside, &place, &text).and_then(|()| fs::rename(&beside, &place));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        Wrong::new(format!("{} cannot be written: {error}", path.display()))
    })
}

/// A file beside another, with its owner and what its owner and group may do with it.
fn filled(beside: &Path, old: &Path, text: &str) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(beside)?;
    if let Ok(old) = fs::metadata(old) {
        let new = file.metadata()?;
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            fchown(&file, Some(old.uid()), Some(old.gid()))?;
        }
        file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o640))?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
