//! The command as a process: what it prints where, and the status that it ends with.

#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn skein(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skein")).args(arguments).output().unwrap()
}

/// A file of the project.
fn file(path: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path).display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_file_without_a_fault_is_checked_with_0() {
    let done = skein(&["check", &file("examples/straight.toml")]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(text(&done.stdout).ends_with("straight.toml has no fault\n"));
    assert!(done.stderr.is_empty());
}

#[test]
fn a_file_with_faults_is_checked_with_1_and_not_run() {
    let broken = file("config/tests/broken/bad-login.toml");
    for command in ["check", "run"] {
        let done = skein(&[command, &broken]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{command}: {said}");
        assert!(said.contains("`login` cannot be `relayed`") && said.contains("bad-login.toml:13:9"), "{said}");
        assert!(!said.contains('\u{1b}'), "colours are for terminals: {said:?}");
        assert!(done.stdout.is_empty());
    }
}

#[test]
fn a_file_that_cannot_be_read_is_checked_with_1() {
    let done = skein(&["check", &file("no-such-file.toml")]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("no-such-file.toml cannot be read"));
}

#[test]
fn what_is_not_understood_ends_with_2() {
    for arguments in [&["check"][..], &["chekc", "skein.toml"], &["schema", "--verbose"], &[]] {
        assert_eq!(skein(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn the_schema_is_printed_alone() {
    let done = skein(&["schema"]);
    assert_eq!(done.status.code(), Some(0));
    let schema = text(&done.stdout);
    assert!(schema.starts_with("{\n") && schema.contains("\"virtual-clusters\"") && schema.ends_with("}\n"));
    assert!(done.stderr.is_empty());
}

/// Runs a command that reads a line.
fn skein_with(arguments: &[&str], line: &str) -> Output {
    let mut skein = Command::new(env!("CARGO_BIN_EXE_skein"));
    let skein = skein.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut skein = skein.spawn().unwrap();
    // One that has found a fault before it reads is gone by now.
    let _ = skein.stdin.take().unwrap().write_all(line.as_bytes());
    skein.wait_with_output().unwrap()
}

/// A folder of one test, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skein-command-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn users_are_added_listed_and_taken_out() {
    let folder = Folder::new("users");
    let file = folder.file("users.toml");
    let add = |name, line| skein_with(&["user", "add", "--file", &file, "--iterations", "4096", name], line);
    let done = add("alice", "hunter2\n");
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout), format!("alice is added to {file}\n"));
    let first = std::fs::read_to_string(&file).unwrap();
    assert!(!first.contains("hunter2"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    std::fs::write(&file, format!("# ours\n{first}")).unwrap();
    assert_eq!(text(&add("alice", "other").stdout), format!("alice has a new password in {file}\n"));
    assert_eq!(add("bob, the = ", "word\r\n").status.code(), Some(0));
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.starts_with("# ours\n") && !written.contains(first.split('$').nth(1).unwrap()));
    let listed = skein(&["user", "list", "--file", &file]);
    let line = |name| format!("{name}  SCRAM-SHA-256 4096, SCRAM-SHA-512 4096\n");
    assert_eq!(text(&listed.stdout), line("alice") + &line("bob, the = "));

    assert_eq!(skein(&["user", "remove", "--file", &file, "alice"]).status.code(), Some(0));
    let again = skein(&["user", "remove", "--file", &file, "alice"]);
    assert!(again.status.code() == Some(1) && text(&again.stderr).contains("has no user `alice`"));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_link_and_its_rights_stay() {
    let folder = Folder::new("link");
    let (file, link) = (folder.file("users.toml"), folder.file("link.toml"));
    std::fs::write(&file, "# ours\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o664)).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(skein_with(&["user", "add", "--file", &link, "alice"], "word\n").status.code(), Some(0));
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::read_to_string(&file).unwrap().contains("alice"));
}

#[test]
fn a_user_that_cannot_be_one_changes_nothing() {
    let folder = Folder::new("wrong");
    let file = folder.file("users.toml");
    for (name, line, wanted) in [
        ("", "word\n", "an empty name"),
        ("a\nb", "word\n", "a name with letters"),
        ("alice", "", "an empty password"),
        ("alice", "\n", "an empty password"),
        ("alice", "a\tb\n", "a password with letters"),
        ("alice", &"x".repeat(2000), "more than 1024 bytes"),
    ] {
        let done = skein_with(&["user", "add", "--file", &file, name], line);
        let said = text(&done.stderr);
        assert!(done.status.code() == Some(1) && said.contains(wanted), "{said}");
        assert!(!std::fs::exists(&file).unwrap());
    }
    std::fs::write(&file, "[users]\nalice = \"hunter2\"\n").unwrap();
    let done = skein_with(&["user", "add", "--file", &file, "bob"], "word\n");
    let said = text(&done.stderr);
    assert!(done.status.code() == Some(1) && said.contains("users.toml:2: `alice` is a text"), "{said}");
    assert!(!said.contains("hunter2"));
    let gone = skein(&["user", "list", "--file", &folder.file("gone.toml")]);
    assert!(gone.status.code() == Some(1) && text(&gone.stderr).contains("cannot be read"));
}

#[test]
fn a_password_is_no_argument() {
    for arguments in [&["user", "add", "--file", "f", "alice", "hunter2"][..], &["user", "add", "alice"], &["user"]] {
        assert_eq!(skein(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let manual = text(&skein(&["man"]).stdout);
    assert!(manual.contains("SKEIN USER ADD") && manual.contains("iterations"));
}

#[test]
fn what_logins_need_is_looked_at_when_a_file_is_checked() {
    let file = "\
[clusters.one]
bootstrap = [\"kafka:9092\"]
nodes = \"1\"

[clusters.one.login]
mechanism = \"OAUTHBEARER\"
token-endpoint = \"https://id.example.com/token\"
token-endpoint-ca = \"nowhere.pem\"
client-id = \"skein\"
client-secret = \"file:secret\"

[virtual-clusters.main]
id = \"main-1\"
target.cluster = \"one\"

[virtual-clusters.main.listeners.plain]
bind = \"127.0.0.1:9092\"
advertise = \"localhost\"
ports = \"9101\"
login = { mechanisms = [\"SCRAM-SHA-512\"], users = \"nobody.toml\" }
";
    let path = std::env::temp_dir().join(format!("skein-logins-{}.toml", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let checked = skein(&["check", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    let said = String::from_utf8(checked.stderr).unwrap();
    assert_eq!(checked.status.code(), Some(1), "{said}");
    for wanted in ["nowhere.pem cannot be read", "nobody.toml cannot be read", "2 faults in"] {
        assert!(said.contains(wanted), "{said}");
    }
}
