//! The kinds of router there are. A new kind is one file with an impl of [`Kind`], and one line in a [`Registry`].

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::router::{RouteId, Router};

/// A route as the configuration declares it.
#[derive(Clone, Debug)]
pub struct DeclaredRoute {
    /// Its name.
    pub name: String,
    /// Its number.
    pub id: RouteId,
    /// What else stands in its table.
    pub settings: toml::Table,
}

/// What is wrong with the settings of a router.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Invalid {
    /// The key that it stands under, dotted, from the router's table on; empty for the whole.
    pub key: String,
    /// What was found, and what would be right.
    pub what: String,
}

/// A kind of router.
pub trait Kind: Router + Sized + 'static {
    /// The word in `kind = "…"`.
    const NAME: &'static str;
    /// TOML that the manual shows and a test loads.
    const EXAMPLE: &'static str;
    /// What stands in the router's table besides `kind` and `routes`.
    type Settings: DeserializeOwned;

    /// Makes the router, once per virtual cluster.
    ///
    /// # Errors
    /// Everything that is wrong, not only the first.
    fn prepare(settings: Self::Settings, routes: &[DeclaredRoute]) -> Result<Self, Vec<Invalid>>;
}

type Prepare = fn(toml::Table, &[DeclaredRoute]) -> Result<Box<dyn Router>, Vec<Invalid>>;

/// The kinds of a build, by name.
#[derive(Clone, Default)]
pub struct Registry {
    kinds: BTreeMap<&'static str, (Prepare, &'static str)>,
}

impl Registry {
    /// The kinds that Skein comes with.
    pub fn standard() -> Self {
        Self::default()
    }

    /// With one more kind.
    #[must_use]
    pub fn with<K: Kind>(mut self) -> Self {
        let prepare: Prepare = |settings, routes| {
            let settings = settings.try_into().map_err(|error: toml::de::Error| {
                vec![Invalid { key: String::new(), what: error.message().to_owned() }]
            })?;
            Ok(Box::new(K::prepare(settings, routes)?))
        };
        self.kinds.insert(K::NAME, (prepare, K::EXAMPLE));
        self
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.keys().copied()
    }

    /// The example of each kind.
    pub fn examples(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.kinds.iter().map(|(name, (_, example))| (*name, *example))
    }

    /// Makes a router of the kind `name`; `None` if there is no such kind.
    pub fn prepare(
        &self, name: &str, settings: toml::Table, routes: &[DeclaredRoute],
    ) -> Option<Result<Box<dyn Router>, Vec<Invalid>>> {
        let (prepare, _) = self.kinds.get(name)?;
        Some(prepare(settings, routes))
    }
}
