//! A blueprint for tests: one cluster behind two routers that rename everything.

use skein_config::Blueprint;
use skein_routing::disguise::Disguise;
use skein_routing::kind::Registry;

const FILE: &str = r#"
[clusters.one]
bootstrap = ["10.0.0.1:9092"]
nodes = "1, 7, 1001"
addresses.7 = "10.0.0.7:9092"

[routers.inner]
kind = "disguise"
prefix = "a."
stride = 2
routes.all = { id = 0, target.cluster = "one" }

[routers.outer]
kind = "disguise"
prefix = "b."
stride = 2
routes.only = { id = 0, target.router = "inner" }

[virtual-clusters.main]
id = "main-1"
target.router = "outer"
listeners.plain = { bind = "127.0.0.1:9092", advertise = "skein.example.com", ports = "9101-9199" }
"#;

pub(crate) fn masked() -> Blueprint {
    let kinds = Registry::standard().with::<Disguise>();
    let read = skein_config::load("example.toml", FILE, &kinds).unwrap_or_else(|faults| panic!("{faults:?}"));
    read.blueprint
}
