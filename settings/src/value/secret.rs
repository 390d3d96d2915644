//! Secrets: they are read like texts, and shown like nothing else.

use super::{Item, Value};
use crate::secret::SecretSource;
use crate::shape::Shape;

/// A secret, or the file that has it.
#[derive(Clone, Copy)]
pub struct Secrecy {
    wanted: &'static str,
}

/// A secret: `"file:PATH"` for a file that holds it, or the text itself, as a rule `"${NAME}"`. `wanted`: what it is, such as
/// "a password". Its key has [`Shape::Secret`], so that nothing shows what stands there.
pub fn secret(wanted: &'static str) -> Secrecy {
    Secrecy { wanted }
}

impl Value for Secrecy {
    type Out = SecretSource;

    fn shape(&self) -> Shape {
        Shape::Secret
    }

    fn wanted(&self) -> String {
        format!("{} as \"file:PATH\" or \"${{NAME}}\"", self.wanted)
    }

    fn read(&self, item: &Item<'_>) -> Option<SecretSource> {
        let text = item.text(&self.wanted())?;
        let parsed = SecretSource::parse(&text).map_err(|what| item.fault(what, format!("write {}", self.wanted())));
        parsed.ok().map(|source| source.map_path(|path| item.path(&path.to_string_lossy())))
    }
}
