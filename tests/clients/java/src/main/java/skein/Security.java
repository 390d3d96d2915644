package skein;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * What a client trusts, and what it shows: the environment says it, where no list of processes shows a password. Without
 * {@code SKEIN_CLIENT_PROTOCOL} there is none of it.
 */
final class Security {
    private static final String MODULES = "org.apache.kafka.common.security.";
    private static final String TOKENS = MODULES + "oauthbearer.";

    private Security() {
    }

    /** In the words of the Java client. */
    static Map<String, String> properties() {
        Map<String, String> all = new HashMap<>();
        if (said("PROTOCOL") == null) {
            return all;
        }
        all.put("security.protocol", said("PROTOCOL"));
        if (said("CA") != null) {
            all.put("ssl.truststore.type", "PEM");
            all.put("ssl.truststore.certificates", file("CA"));
        }
        if (said("CERTIFICATE") != null) {
            all.put("ssl.keystore.type", "PEM");
            all.put("ssl.keystore.certificate.chain", file("CERTIFICATE"));
            all.put("ssl.keystore.key", file("KEY"));
        }
        String mechanism = said("MECHANISM");
        if (mechanism != null) {
            all.put("sasl.mechanism", mechanism);
            if (mechanism.equals("OAUTHBEARER")) {
                bearer(all);
            } else {
                String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
                all.put("sasl.jaas.config", MODULES + module + " required username=\"" + said("USERNAME")
                        + "\" password=\"" + said("PASSWORD") + "\";");
            }
        }
        return all;
    }

    private static void bearer(Map<String, String> all) {
        String url = said("TOKEN_ENDPOINT");
        if (url == null) {
            url = Path.of(said("TOKEN_FILE")).toUri().toString();
        } else {
            all.put("sasl.oauthbearer.client.credentials.client.id", said("USERNAME"));
            all.put("sasl.oauthbearer.client.credentials.client.secret", said("PASSWORD"));
        }
        // The client asks no URL, and reads no file, that this does not name.
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", url);
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.files", url);
        all.put("sasl.oauthbearer.token.endpoint.url", url);
        all.put("sasl.login.callback.handler.class", TOKENS + "OAuthBearerLoginCallbackHandler");
        all.put("sasl.jaas.config", TOKENS + "OAuthBearerLoginModule required;");
    }

    private static String said(String name) {
        return System.getenv("SKEIN_CLIENT_" + name);
    }

    private static String file(String name) {
        try {
            return Files.readString(Path.of(said(name)));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
