//! A file of users for a proxy.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, anyhow};
use skein_login::UserFile;

use crate::workplace;

/// As few iterations as are allowed: nobody guesses here.
const ITERATIONS: u32 = 4096;

/// A file of users in a folder of its own.
#[derive(Debug)]
pub struct Users {
    path: PathBuf,
}

impl Users {
    /// A file with these users and their passwords.
    pub fn of(users: &[(&str, &str)]) -> Result<Self> {
        let this = Self { path: workplace::run_dir("users")?.join("users.toml") };
        this.set(users)?;
        Ok(this)
    }

    /// These and no others are the users from now on. What the file says besides stays, as it does with `skein user`.
    pub fn set(&self, users: &[(&str, &str)]) -> Result<()> {
        let before = fs::read(&self.path).unwrap_or_default();
        let mut file = UserFile::parse(&before).map_err(|wrong| anyhow!("{wrong}"))?;
        for listed in file.list() {
            file.remove(&listed.name);
        }
        for (user, password) in users {
            file.add(user, password, ITERATIONS).map_err(|why| anyhow!(why))?;
        }
        let new = self.path.with_extension("new");
        fs::write(&new, file.to_string())?;
        Ok(fs::rename(new, &self.path)?)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
