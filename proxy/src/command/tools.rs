//! Commands that look at a file, or at the command itself, and end.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap_complete::Shell;
use skein_config::Blueprint;
use skein_link::tls::Material;
use skein_routing::kind::Registry;

use super::file::File;
use super::wrong::Wrong;
use super::{Drawing, Report, status};
use crate::explain::Question;
use crate::live::{self, Weight};
use crate::named;
use crate::picture::Picture;

/// A file, and what it names of TLS, whatever it is needed for. What logins need is looked at, too.
fn with_files(file: PathBuf, kinds: &Registry) -> Result<(Blueprint, Material), Wrong> {
    let (_, configuration) = File::read(file, kinds)?;
    let loaded = Material::load(&configuration.blueprint, &configuration.folder, |_| true);
    let mut found = named::faults(&configuration.blueprint, |_| true);
    let material = loaded.unwrap_or_else(|faults| {
        found.extend(faults);
        Material::default()
    });
    if !found.is_empty() {
        return Err(configuration.faults(found).into());
    }
    Ok((configuration.blueprint, material))
}

fn blueprint(file: PathBuf, kinds: &Registry) -> Result<Blueprint, Wrong> {
    Ok(File::read(file, kinds)?.1.blueprint)
}

/// Says that a file is sound.
pub(super) fn check(file: PathBuf, kinds: &Registry) -> Result<ExitCode, Wrong> {
    let name = file.display().to_string();
    let (_, material) = with_files(file, kinds)?;
    for warning in material.warnings() {
        print(&format!("warning: {warning}\n"))?;
    }
    print(&format!("{name} has no fault\n"))
}

/// Says what the clusters say of a file that is sound: a fault among that makes the exit status 1.
pub(super) fn check_live(file: PathBuf, kinds: &Registry) -> Result<ExitCode, Wrong> {
    let (blueprint, material) = with_files(file, kinds)?;
    let findings = asking()?.block_on(live::check(&blueprint, &material));
    for finding in &findings {
        print(&format!("{finding}\n"))?;
    }
    let is_good = findings.iter().all(|finding| finding.weight != Weight::Fault);
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints what a running Skein says of itself.
pub(super) fn status(admin: &str, format: Report) -> Result<ExitCode, Wrong> {
    let status = asking()?.block_on(status::ask(admin))?;
    print(&match format {
        Report::Text => status::shown(&status),
        Report::Json => format!("{status:#}\n"),
    })
}

/// What runs a few questions.
fn asking() -> Result<tokio::runtime::Runtime, Wrong> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Wrong::new(format!("nothing can be asked: {error}")))
}

/// Draws the graph of a file.
pub(super) fn graph(file: PathBuf, format: Drawing, kinds: &Registry) -> Result<ExitCode, Wrong> {
    let picture = Picture::of(&blueprint(file, kinds)?);
    match format {
        Drawing::Mermaid => print(&picture.mermaid()),
        Drawing::Svg => match picture.svg() {
            Some(svg) => print(&(svg + "\n")),
            None => Err(Wrong::new("there is too much to be laid out as SVG: use `--format mermaid`")),
        },
    }
}

/// Says where a request goes, and why.
pub(super) fn explain(file: PathBuf, question: &Question, kinds: &Registry) -> Result<ExitCode, Wrong> {
    print(&crate::explain::explain(&blueprint(file, kinds)?, question)?)
}

/// Prints completions for a shell.
pub(super) fn completions(shell: Shell, command: &mut clap::Command) -> Result<ExitCode, Wrong> {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "skein", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints the manual page: of the command, and of each of its commands.
pub(super) fn man(mut command: clap::Command) -> Result<ExitCode, Wrong> {
    command.build();
    let mut page = Vec::new();
    let parts = parts(&command);
    clap_mangen::Man::new(command).render(&mut page).map_err(unwritten)?;
    for part in parts {
        let name = part.get_bin_name().unwrap_or_default().to_uppercase();
        writeln!(page, ".SH \"{name}\"").map_err(unwritten)?;
        let man = clap_mangen::Man::new(part);
        man.render_description_section(&mut page).map_err(unwritten)?;
        man.render_options_section(&mut page).map_err(unwritten)?;
    }
    print(&String::from_utf8_lossy(&page))
}

/// The commands of a command, each followed by its own.
fn parts(command: &clap::Command) -> Vec<clap::Command> {
    let parts = command.get_subcommands().filter(|part| part.get_name() != "help");
    parts.flat_map(|part| std::iter::once(part.clone()).chain(self::parts(part))).collect()
}

fn unwritten(error: std::io::Error) -> Wrong {
    Wrong::new(format!("standard output cannot be written: {error}"))
}

/// Prints the JSON Schema of a configuration.
pub(super) fn schema(kinds: &Registry) -> Result<ExitCode, Wrong> {
    print(&format!("{:#}\n", skein_config::schema(kinds)))
}

/// Prints a text; a reader that has had enough of it is no error.
pub(super) fn print(text: &str) -> Result<ExitCode, Wrong> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(unwritten(error)),
        Ok(()) | Err(_) => Ok(ExitCode::SUCCESS),
    }
}
