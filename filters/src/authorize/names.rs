//! The names of topic ids: what the connections of a virtual cluster have learnt, for all of them.
//!
//! A topic id never gets another name: a topic that is made again has another id.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

/// Ids that are kept: more than topics of any cluster. Beyond it all is forgotten, and learnt again.
const MOST: usize = 1 << 20;

/// A topic's id.
pub(super) type Id = [u8; 16];

/// No topic's.
pub(super) const NONE: Id = [0; 16];

/// Names by id.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: RwLock<HashMap<Id, Arc<str>>>,
}

impl Names {
    /// The name of an id.
    pub(super) fn get(&self, id: &Id) -> Option<Arc<str>> {
        self.known.read().ok()?.get(id).cloned()
    }

    /// Remembers a name.
    pub(super) fn learn(&self, id: Id, name: &str) {
        if id == NONE || self.get(&id).is_some() {
            return;
        }
        if let Ok(mut known) = self.known.write() {
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(id, Arc::from(name));
        }
    }
}
