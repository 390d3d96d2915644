//! Secrets of the rig, looked for where none may be: in logs, and in whatever a command says.

/// What a token begins with: `{"alg":` and `{"typ":` in base64.
const TOKENS: [&str; 2] = ["eyJhbGciO", "eyJ0eXAiO"];
/// What keys and kept credentials begin with.
const KEYS: [&str; 3] = ["PRIVATE KEY", "SCRAM-SHA-256$", "SCRAM-SHA-512$"];
/// What all passwords of the rig have in them, and the only word that may: a key of the configuration.
const PASSWORD: &str = "-secret";
const KEY_OF_A_FILE: &str = "client-secret";
/// The same as a list of bytes, as a careless `Debug` shows it.
const BYTES: &str = "45, 115, 101, 99, 114, 101, 116";

/// The first line of a text that has a secret in it.
pub fn leak(text: &str) -> Option<&str> {
    text.lines().find(|line| {
        let passwords = line.matches(PASSWORD).count() - line.matches(KEY_OF_A_FILE).count();
        passwords > 0 || line.contains(BYTES) || TOKENS.iter().chain(&KEYS).any(|begin| line.contains(begin))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster;

    #[test]
    fn a_secret_is_found_and_a_key_of_a_file_is_none() {
        let password = cluster::password("bob");
        for line in [
            format!("reason={password}"),
            format!("`client-secret` is {password}"),
            format!("{:?}", password.as_bytes()),
            "token=eyJhbGciOiJSUzI1NiJ9.e30.AA".to_owned(),
            "alice = SCRAM-SHA-256$4096:AA$AA:AA".to_owned(),
        ] {
            assert_eq!(leak(&format!("one\n{line}\ntwo")), Some(&*line));
        }
        assert_eq!(leak("`client-secret` of cluster `one` is missing\nmechanism=SCRAM-SHA-256"), None);
    }
}
