//! Files that certificates and keys are in, looked at as long as what was made of them is in use.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use skein_link::tls::{Look, Material, Renewed};

use crate::events::FilesRenewed;
use crate::meters::Meters;

/// Time between two looks. New files are used from the second look on that finds them the same.
const LOOK: Duration = Duration::from_secs(2);

/// What is looked at.
#[derive(Default)]
pub(crate) struct Renewals(Mutex<Vec<Weak<dyn Look>>>);

impl Renewals {
    /// Has something new looked at.
    pub(crate) fn watch(&self, material: &Material) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        for tls in material.listeners.values() {
            let tls: Arc<dyn Look> = Arc::<skein_link::tls::ServerTls>::clone(tls);
            all.push(Arc::downgrade(&tls));
        }
        for tls in material.clusters.values() {
            let tls: Arc<dyn Look> = Arc::<skein_link::tls::ClientTls>::clone(tls);
            all.push(Arc::downgrade(&tls));
        }
    }

    fn all(&self) -> Vec<Arc<dyn Look>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).collect()
    }

    /// Looks at all, now and then, as long as somebody holds it.
    pub(crate) async fn run(this: Weak<Self>, meters: Arc<Meters>) {
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(now) = this.upgrade() else { return };
            for one in now.all() {
                let looked = tokio::task::spawn_blocking(move || one.look().map(|renewed| (one.files(), renewed)));
                // It does not panic.
                let Ok(Some((files, renewed))) = looked.await else { continue };
                let why = match &renewed {
                    Renewed::Taken => None,
                    Renewed::Faulty(why) => Some(why.as_str()),
                };
                FilesRenewed { files: &files, why }.emit(&meters);
            }
        }
    }
}
