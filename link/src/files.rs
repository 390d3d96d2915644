//! Reading files that may change, be large, or be none.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// At most so many bytes of a file: how a [`skein_settings::SecretSource`] is read. It may wait for a disk.
///
/// # Errors
/// It cannot be read, or is no plain file: a pipe could keep its reader for ever.
pub fn read_at_most(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(u64::try_from(most).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same, off the threads of connections.
pub(crate) async fn read(path: PathBuf, most: usize) -> Result<Vec<u8>, String> {
    let name = path.display().to_string();
    let read = tokio::task::spawn_blocking(move || read_at_most(&path, most)).await;
    read.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| format!("{name} cannot be read: {error}"))
}
