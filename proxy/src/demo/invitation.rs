//! Commands by which somebody tries a client of their own.

use super::setting::Setting;

/// Lines to show. Each command is whole in one line or goes on inside its quotes.
pub(super) fn commands(settings: &[Setting]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(first) = settings.first() {
        let (bootstrap, topic) = (first.bootstrap(), first.name);
        lines.push(format!("kcat -b {bootstrap} -C -t {topic} -o -5 -c 5"));
        lines.push(format!("echo hello | kafka-console-producer.sh --bootstrap-server {bootstrap} --topic mine"));
    }
    if let Some(last) = settings.last() {
        let bootstrap = last.bootstrap();
        lines.push("python3 -c 'import confluent_kafka as k; p = k.Producer({".to_owned());
        lines.push(format!("  \"bootstrap.servers\": \"{bootstrap}\"}}); p.produce(\"mine\", \"hello\"); p.flush()'"));
        lines.push(format!("kcat -b {bootstrap} -C -t mine -e"));
    }
    lines
}
