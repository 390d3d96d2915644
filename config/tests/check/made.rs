//! Files that are made here, since no editor would keep them as they are.

/// A good file.
pub(crate) const GOOD: &str = include_str!("../../../examples/straight.toml");

/// Each with the name that faults call it.
pub(crate) fn files() -> Vec<(&'static str, Vec<u8>)> {
    let text = |text: String| text.into_bytes();
    let bad = GOOD.replace("nodes = \"1-3\"", "nodes = \"1-x\"");
    let mut not_utf8 = GOOD.replace("main-1", "ma?in-1").into_bytes();
    not_utf8.iter_mut().filter(|byte| **byte == b'?').for_each(|byte| *byte = 0xff);
    let long = format!("nodes = \"{}x{}\"", "1,".repeat(50_000), ",2".repeat(50_000));
    vec![
        ("not-utf8.toml", not_utf8),
        ("ten-megabytes.toml", text(format!("{GOOD}\n# {}\n", "x".repeat(10 << 20)))),
        ("many-keys.toml", text((0..50_000).map(|key| format!("key-{key} = {key}\n")).collect())),
        ("much-garbage.toml", text("%&/(\n".repeat(100_000))),
        ("much-garbage-in-a-line.toml", text(format!("{GOOD}\na = [ {} ]\n", "= ".repeat(100_000)))),
        ("many-deep-keys.toml", text(format!("{}a = 1\n", "a.".repeat(100)).repeat(4_000))),
        ("deep-lists.toml", text(format!("{GOOD}\na = {}", "[".repeat(100_000)))),
        ("deep-lists-closed.toml", text(format!("a = {}{}\n{GOOD}", "[".repeat(100_000), "]".repeat(100_000)))),
        ("deep-tables.toml", text(format!("a = {}\n{GOOD}", "{ a = ".repeat(100_000)))),
        ("deep-key.toml", text(format!("{}a = 1\n{GOOD}", "a.".repeat(100_000)))),
        ("deep-header.toml", text(format!("{GOOD}\n[{}a]\nb = 1\n", "a.".repeat(100_000)))),
        ("long-line.toml", text(GOOD.replace("nodes = \"1-3\"", &long))),
        ("long-key.toml", text(format!("{} = 1\n{GOOD}", "key".repeat(100_000)))),
        ("long-name.toml", text(GOOD.replace("cluster = \"one\"", &format!("cluster = \"{}\"", "x".repeat(100_000))))),
        ("many-references.toml", text(references(5_000))),
        ("long-chain.toml", text(chain(1_000))),
        ("many-ways.toml", text(doubling(14))),
        ("crlf.toml", text(bad.replace('\n', "\r\n"))),
        ("cr.toml", text(bad.replace('\n', "\r"))),
        ("bom.toml", text(format!("\u{feff}surprise = 1\n{bad}"))),
        ("bom-utf16.toml", GOOD.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("nul.toml", text(GOOD.replace("main-1", "ma\0in"))),
        ("escapes.toml", text(format!("\u{1b}[2J = 1\n{GOOD}"))),
        ("turned-around.toml", text(GOOD.replace("main-1", "\u{202e}main").replace("1-3", "\u{202e}1"))),
        ("tab.toml", text(GOOD.replace("nodes = \"1-3\"", "\tnodes =\t\"1-x\""))),
    ]
}

/// Virtual clusters of which each leads to a cluster that is not defined, among many that are.
fn references(count: usize) -> String {
    let pair = |at: usize| {
        format!(
            "clusters.c{at} = {{ bootstrap = [\"kafka:9092\"], nodes = \"1\" }}\n\
             virtual-clusters.v{at} = {{ id = \"{at}\", target.cluster = \"d{at}\", listeners = {{}} }}\n"
        )
    };
    (0..count).map(pair).collect()
}

/// Routers that lead to the next, and the next, for longer than a request may go.
fn chain(length: usize) -> String {
    let router = |at: usize| {
        let target =
            if at + 1 == length { "cluster = \"one\"".to_owned() } else { format!("router = \"r{}\"", at + 1) };
        format!("[routers.r{at}]\nkind = \"disguise\"\nprefix = \"x.\"\nroutes.only = {{ id = 0, target.{target} }}\n")
    };
    let routers: String = (0..length).map(router).collect();
    format!("{}\n{routers}", GOOD.replace("target.cluster = \"one\"", "target.router = \"r0\""))
}

/// Routers that make twice as many ways at each level.
fn doubling(levels: usize) -> String {
    let router = |at: usize| {
        let target =
            if at + 1 == levels { "cluster = \"one\"".to_owned() } else { format!("router = \"r{}\"", at + 1) };
        let route = |id: usize| format!("routes.to{id} = {{ id = {id}, target.{target} }}\n");
        format!("[routers.r{at}]\nkind = \"disguise\"\nprefix = \"x.\"\nstride = 2\n{}{}", route(0), route(1))
    };
    let routers: String = (0..levels).map(router).collect();
    format!("{}\n{routers}", GOOD.replace("target.cluster = \"one\"", "target.router = \"r0\""))
}
