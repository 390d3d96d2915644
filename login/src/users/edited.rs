//! A file of users that is changed: what people have written around the users stays.

use std::fmt;
use std::num::NonZeroU32;

use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use super::{Decoys, Read, Wrong, read};
use crate::hash::Hash;
use crate::name::name;
use crate::stored::Stored;

/// What stands above what is made for those who are nobody.
const ABOUT: &str =
    "# Who is no user is answered by means of this. It is a secret, and the same in all copies of the file.\n";

/// A file of users, to be changed and written back.
#[derive(Clone)]
pub struct UserFile {
    document: DocumentMut,
}

/// What became of the user that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// There was none of that name.
    New,
    /// There was one, whose password this replaces.
    Replaced,
}

/// One user as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name.
    pub name: String,
    /// What is kept: the hash, and its iterations.
    pub kept: Vec<(Hash, NonZeroU32)>,
}

impl UserFile {
    /// Reads a file; an empty one for one that is not there yet.
    ///
    /// # Errors
    /// What is wrong with it: a file with a fault is not changed.
    pub fn parse(file: &[u8]) -> Result<Self, Wrong> {
        let text = String::from_utf8_lossy(file);
        let document: DocumentMut = text.parse().unwrap_or_default();
        let mut parsed = Self { document };
        // An empty file has no table of users, and that is no fault of it here.
        if parsed.document.is_empty() && text.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
            parsed.document.insert("users", Item::Table(Table::new()));
            return Ok(parsed);
        }
        read(file).map(|_| parsed)
    }

    /// Adds a user, or gives it another password. It takes some milliseconds. A file that does not say what those see who are
    /// nobody says it from now on.
    ///
    /// # Errors
    /// The name, the password or the number of iterations cannot be one, or the system gives no random bytes.
    pub fn add(&mut self, user: &str, password: &str, iterations: u32) -> Result<Added, &'static str> {
        let user = name(user)?;
        let mut kept = InlineTable::new();
        for (key, hash) in [("scram-sha-256", Hash::Sha256), ("scram-sha-512", Hash::Sha512)] {
            kept.insert(key, Value::from(Stored::new(hash, password, iterations)?.written()));
        }
        if !self.document.contains_key("decoys") {
            self.give(Decoys::written().ok_or("the system gives no random bytes")?);
        }
        let users = self.users().ok_or("a file without a table of users")?;
        let before = users.insert(&user, Item::Value(Value::InlineTable(kept)));
        Ok(if before.is_some() { Added::Replaced } else { Added::New })
    }

    /// Takes a user out. `false`: there is none.
    pub fn remove(&mut self, user: &str) -> bool {
        let Ok(user) = name(user) else { return false };
        self.users().is_some_and(|users| users.remove(&user).is_some())
    }

    /// All users, by name.
    pub fn list(&self) -> Vec<Listed> {
        let users = read(self.to_string().as_bytes()).map(|Read { users, .. }| users).unwrap_or_default();
        let mut listed: Vec<_> = users
            .into_iter()
            .map(|(name, user)| {
                let kept = [user.sha256, user.sha512].into_iter().flatten();
                Listed { name, kept: kept.map(|stored| (stored.hash, stored.iterations)).collect() }
            })
            .collect();
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        listed
    }

    /// Gives it decoys, below what stands above the users.
    fn give(&mut self, decoys: String) {
        let mut above = ABOUT.to_owned();
        if let Some(table) = self.document.get_mut("users").and_then(Item::as_table_mut) {
            if let Some(before) = table.decor().prefix().and_then(|prefix| prefix.as_str()) {
                above.insert_str(0, before);
            }
            table.decor_mut().set_prefix("\n");
        }
        self.document.insert("decoys", Item::Value(Value::from(decoys)));
        if let Some(mut key) = self.document.key_mut("decoys") {
            key.leaf_decor_mut().set_prefix(above);
        }
    }

    fn users(&mut self) -> Option<&mut dyn toml_edit::TableLike> {
        self.document.get_mut("users")?.as_table_like_mut()
    }
}

/// The file as it is to be written.
impl fmt::Display for UserFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.document.fmt(f)
    }
}

impl fmt::Debug for UserFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserFile(..)")
    }
}
