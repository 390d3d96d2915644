//! Paths of files: relative ones begin at the folder of the file that names them, wherever the process was started.

use std::path::PathBuf;

use super::{Item, Value};
use crate::shape::Shape;

/// The path of a file.
#[derive(Clone, Copy)]
pub struct FilePath {
    wanted: &'static str,
}

/// The path of a file. `wanted`: words that follow "write", with an example.
pub fn path(wanted: &'static str) -> FilePath {
    FilePath { wanted }
}

impl Value for FilePath {
    type Out = PathBuf;

    fn shape(&self) -> Shape {
        Shape::Plain { schema: Shape::text("."), range: String::new() }
    }

    fn wanted(&self) -> String {
        self.wanted.to_owned()
    }

    fn read(&self, item: &Item<'_>) -> Option<PathBuf> {
        let text = item.text(self.wanted)?;
        if text.is_empty() {
            item.fault("an empty path", format!("write {}", self.wanted));
            return None;
        }
        Some(item.path(&text))
    }
}
