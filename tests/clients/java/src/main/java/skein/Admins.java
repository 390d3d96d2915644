package skein;

import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;

/** What administrators do; each class puts in what it saw of its features. */
final class Admins {
    private Admins() {
    }

    static Object run(Session session) throws Exception {
        try (Admin admin = session.admin()) {
            Map<String, Object> results = new TreeMap<>();
            TopicAdmin.run(session, admin, results);
            GroupAdmin.run(session, admin, results);
            PartitionAdmin.run(session, admin, results);
            ClusterAdmin.run(session, admin, results);
            return results;
        }
    }
}
