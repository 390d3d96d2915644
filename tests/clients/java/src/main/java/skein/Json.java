package skein;

import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/** JSON with sorted keys, so that equal values have equal text. */
final class Json {
    private Json() {
    }

    /** Maps, collections, strings, numbers, booleans and null; anything else by its {@code toString}. */
    static String text(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    /** A map from keys and values in turn. */
    static Map<String, Object> map(Object... keysAndValues) {
        Map<String, Object> map = new TreeMap<>();
        for (int at = 0; at < keysAndValues.length; at += 2) {
            map.put((String) keysAndValues[at], keysAndValues[at + 1]);
        }
        return map;
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            TreeMap<String, Object> sorted = new TreeMap<>();
            map.forEach((key, member) -> sorted.put(String.valueOf(key), member));
            String separator = "{";
            for (Map.Entry<String, Object> member : sorted.entrySet()) {
                out.append(separator);
                quote(member.getKey(), out);
                out.append(':');
                write(member.getValue(), out);
                separator = ",";
            }
            out.append(sorted.isEmpty() ? "{}" : "}");
        } else if (value instanceof Collection<?> items) {
            String separator = "[";
            for (Object item : items) {
                out.append(separator);
                write(item, out);
                separator = ",";
            }
            out.append(items.isEmpty() ? "[]" : "]");
        } else {
            quote(value.toString(), out);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
