//! Commands by which somebody tries a client of their own.

use super::setting::Setting;

/// Lines to show. Each command is whole in one line or goes on inside its quotes.
pub(super) fn commands(settings: &[Setting]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(first) = settings.first() {
        let bootstrap = first.bootstrap();
        lines.push(format!("echo hello | kcat -P -b {bootstrap} -t mine; kcat -C -b {bootstrap} -t mine -e"));
        lines.push(format!("echo hello | kafka-console-producer.sh --bootstrap-server {bootstrap} --topic mine"));
        lines.push(format!("kafka-console-consumer.sh --bootstrap-server {bootstrap} --topic mine --from-beginning"));
    }
    if let Some(last) = settings.last() {
        let bootstrap = last.bootstrap();
        lines.push("python3 -c 'import confluent_kafka as k; p = k.Producer({".to_owned());
        lines.push(format!("  \"bootstrap.servers\": \"{bootstrap}\"}}); p.produce(\"mine\", \"hello\"); p.flush()'"));
    }
    lines
}
