package skein;

import static skein.Json.map;

import org.apache.kafka.clients.admin.Admin;

/** What administrators do. */
final class Admins {
    private Admins() {
    }

    static Object run(Session session) throws Exception {
        try (Admin admin = session.admin()) {
            return map("topics", TopicAdmin.run(session, admin), "groups", GroupAdmin.run(session, admin),
                    "partitions", PartitionAdmin.run(session, admin), "cluster", ClusterAdmin.run(session, admin));
        }
    }
}
