package skein;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;

/** What administrators ask of a cluster as a whole. */
final class ClusterAdmin {
    private ClusterAdmin() {
    }

    static void run(Session session, Admin admin, Map<String, Object> all) throws Exception {
        DescribeClusterResult cluster = admin.describeCluster();
        List<Node> nodes = Session.get(cluster.nodes()).stream().toList();
        List<Integer> ids = nodes.stream().map(Node::id).sorted().toList();
        Map<String, Object> results = new TreeMap<>();
        results.put("nodes", nodes.size());
        results.put("distinct-ids", ids.stream().distinct().count());
        results.put("distinct-addresses", nodes.stream().map(node -> node.host() + node.port()).distinct().count());
        results.put("controller-is-a-node", ids.contains(Session.get(cluster.controller()).id()));
        results.put("has-id", !Session.get(cluster.clusterId()).isEmpty());
        results.put("broker-configs", brokerConfigs(admin, ids.get(0)));
        results.put("unknown-broker", Session.error(
                admin.describeConfigs(List.of(broker(999_983)), new DescribeConfigsOptions().timeoutMs(1_000)).all()));
        all.put("cluster", results);
        all.put("features", Session.get(admin.describeFeatures().featureMetadata()).finalizedFeatures()
                .entrySet().stream().map(Object::toString).sorted().toList());
        all.put("quotas", quotas(session, admin));
    }

    private static ConfigResource broker(int id) {
        return new ConfigResource(ConfigResource.Type.BROKER, String.valueOf(id));
    }

    private static Object brokerConfigs(Admin admin, int id) throws Exception {
        ConfigResource resource = broker(id);
        return Session.get(admin.describeConfigs(List.of(resource)).all()).get(resource).entries().stream()
                .map(ConfigEntry::name).sorted().toList();
    }

    /** A quota for a client id of this run. */
    private static Object quotas(Session session, Admin admin) throws Exception {
        String client = session.name("limited");
        ClientQuotaEntity entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, client));
        ClientQuotaFilter filter = ClientQuotaFilter.containsOnly(
                List.of(ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.CLIENT_ID, client)));
        Map<String, Object> results = new TreeMap<>();
        for (Double limit : new Double[] {1e6, null}) {
            var change = new ClientQuotaAlteration(entity,
                    List.of(new ClientQuotaAlteration.Op("producer_byte_rate", limit)));
            String step = limit == null ? "remove" : "set";
            results.put(step, Session.error(admin.alterClientQuotas(List.of(change)).all()));
            int wanted = limit == null ? 0 : 1;
            // What is looked at is what was waited for: the next broker may not have heard of it yet.
            Session.until("the quota", () -> {
                var entities = Session.get(admin.describeClientQuotas(filter).entities());
                results.put(step + "-then", entities.entrySet().stream()
                        .map(found -> session.own(found.getKey().entries().toString()) + found.getValue()).toList());
                return entities.size() == wanted;
            });
        }
        return results;
    }
}
