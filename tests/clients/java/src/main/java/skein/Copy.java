package skein;

import static skein.Json.map;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;

/** A stream that copies a topic as it is: what it reads, and what it writes as an idempotent producer. */
final class Copy {
    private Copy() {
    }

    static Map<String, Object> run(Session session) throws Exception {
        String in = session.topic("copy-in", 1);
        String out = session.topic("copy-out", 1);
        List<ProducerRecord<byte[], byte[]>> odd = Records.odd(in, 0);
        try (KafkaProducer<byte[], byte[]> producer = session.producer(Map.of("compression.type", "zstd"))) {
            odd.forEach(producer::send);
            producer.flush();
        }
        List<String> seen = Collections.synchronizedList(new ArrayList<>());
        Map<String, Object> configs = Map.of("producer.compression.type", "lz4", "producer.enable.idempotence", true);
        try (Stream stream = new Stream(session, "copy", topology(in, out, seen), configs); Admin admin = session.admin()) {
            Stream.await(session, out, 1, odd.size());
            stream.tasks();
            // While the stream is there, the broker knows it as a producer.
            Object producers = PartitionAdmin.producers(admin, out, 1);
            return map("consume", List.copyOf(seen), "produce", Records.all(session, out, 1, Map.of()),
                    "idempotent", producers);
        }
    }

    private static Topology topology(String in, String out, List<String> seen) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(in, Consumed.with(Serdes.ByteArray(), Serdes.ByteArray())).process(() -> new Look(seen))
                .to(out, Produced.with(Serdes.ByteArray(), Serdes.ByteArray()));
        return builder.build();
    }

    /** Takes down each record, and passes it on. */
    private static final class Look extends ContextualProcessor<byte[], byte[], byte[], byte[]> {
        private final List<String> seen;

        private Look(List<String> seen) {
            this.seen = seen;
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            List<String> headers = new ArrayList<>();
            for (Header header : record.headers()) {
                headers.add(header.key() + "=" + Records.shown(header.value()));
            }
            long offset = context().recordMetadata().orElseThrow().offset();
            seen.add(offset + " " + record.timestamp() + " key=" + Records.shown(record.key()) + " value="
                    + Records.shown(record.value()) + " headers=" + headers);
            context().forward(record);
        }
    }
}
