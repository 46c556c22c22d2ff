import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.text.ParsePosition;
import java.text.SimpleDateFormat;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TimeZone;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.storage.StringConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Runs Kafka's own transforms and predicates: one JSON text in, one out. In the Java that Janino compiles. */
public class JavaOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** The schema of headers that a record came with, to tell them from those that a transform adds. */
    private static final Schema GIVEN = SchemaBuilder.bytes().optional().name("given").build();

    private final Map<String, Object> stages = new HashMap<String, Object>();
    private final Map<String, Converter> converters = new HashMap<String, Converter>();
    private final SimpleHeaderConverter headerConverter = new SimpleHeaderConverter();

    public String apply(String request) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        String step = "configure";
        try {
            JsonNode asked = JSON.readTree(request);
            Transformation transform = (Transformation) stage(asked);
            step = "read";
            SourceRecord record = record(asked);
            step = "apply";
            SourceRecord changed = (SourceRecord) transform.apply(record);
            step = "write";
            if (changed != null) {
                answer.set("record", written(asked, changed));
            }
        } catch (Exception error) {
            describe(answer, step, error);
        }
        return JSON.writeValueAsString(answer);
    }

    public String test(String request) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        String step = "configure";
        try {
            JsonNode asked = JSON.readTree(request);
            Predicate predicate = (Predicate) stage(asked);
            step = "read";
            SourceRecord record = record(asked);
            step = "apply";
            answer.put("holds", predicate.test(record));
        } catch (Exception error) {
            describe(answer, step, error);
        }
        return JSON.writeValueAsString(answer);
    }

    /** Null if Java refuses the pattern: what is thrown here would meet Spark's own handler of Java's exceptions. */
    public String formatDate(String pattern, String ms) {
        try {
            return dates(pattern).format(new java.util.Date(Long.parseLong(ms)));
        } catch (Exception refusal) {
            return null;
        }
    }

    public String parseDate(String pattern, String text) {
        try {
            return Long.toString(dates(pattern).parse(text).getTime());
        } catch (Exception refusal) {
            return null;
        }
    }

    private static SimpleDateFormat dates(String pattern) {
        SimpleDateFormat format = new SimpleDateFormat(pattern);
        format.setTimeZone(TimeZone.getTimeZone("UTC"));
        return format;
    }

    private Object stage(JsonNode asked) throws Exception {
        String identity = asked.get("class").asText() + asked.get("settings").toString();
        Object stage = stages.get(identity);
        if (stage == null) {
            stage = Class.forName(asked.get("class").asText()).getDeclaredConstructor().newInstance();
            Map settings = (Map) JSON.convertValue(asked.get("settings"), Map.class);
            if (stage instanceof Transformation) {
                ((Transformation) stage).configure(settings);
            } else {
                ((Predicate) stage).configure(settings);
            }
            stages.put(identity, stage);
        }
        return stage;
    }

    private Converter converter(String name) throws Exception {
        Converter converter = (Converter) converters.get(name);
        if (converter == null) {
            converter = newConverter(name);
            converters.put(name, converter);
        }
        return converter;
    }

    private static Converter newConverter(String name) throws Exception {
        if (name.startsWith("json")) {
            Map settings = new HashMap();
            settings.put("schemas.enable", name.equals("json") ? "false" : "true");
            if (name.endsWith("numeric")) {
                settings.put("decimal.format", "NUMERIC");
            }
            Converter converter = new JsonConverter();
            converter.configure(settings, false);
            return converter;
        }
        if (name.equals("string")) {
            Converter converter = new StringConverter();
            converter.configure(Collections.EMPTY_MAP, false);
            return converter;
        }
        String bytes = "org.apache.kafka.connect.converters.ByteArrayConverter";
        return (Converter) Class.forName(bytes).getDeclaredConstructor().newInstance();
    }

    private SourceRecord record(JsonNode asked) throws Exception {
        String topic = text(asked.get("topic"));
        SchemaAndValue key = converter(asked.get("key_converter").asText()).toConnectData(topic, bytes(asked.get("key")));
        SchemaAndValue value =
            converter(asked.get("value_converter").asText()).toConnectData(topic, bytes(asked.get("value")));
        ConnectHeaders headers = new ConnectHeaders();
        for (Iterator each = asked.get("headers").elements(); each.hasNext();) {
            JsonNode header = (JsonNode) each.next();
            headers.add(((JsonNode) header.get(0)).asText(), bytes((JsonNode) header.get(1)), GIVEN);
        }
        Integer partition = asked.get("partition").isNull() ? null : Integer.valueOf(asked.get("partition").asInt());
        Long timestamp = asked.get("timestamp").isNull() ? null : Long.valueOf(asked.get("timestamp").asLong());
        return new SourceRecord(null, null, topic, partition, key.schema(), key.value(), value.schema(), value.value(),
            timestamp, headers);
    }

    private ObjectNode written(JsonNode asked, SourceRecord record) throws Exception {
        ObjectNode found = JSON.createObjectNode();
        String topic = record.topic();
        found.put("topic", topic);
        found.put("partition", record.kafkaPartition());
        found.put("timestamp", record.timestamp());
        Converter keys = converter(asked.get("key_converter").asText());
        Converter values = converter(asked.get("value_converter").asText());
        found.put("key", keys.fromConnectData(topic, record.keySchema(), record.key()));
        found.put("value", values.fromConnectData(topic, record.valueSchema(), record.value()));
        ArrayNode headers = found.putArray("headers");
        for (Iterator each = record.headers().iterator(); each.hasNext();) {
            Header header = (Header) each.next();
            ArrayNode pair = headers.addArray();
            pair.add(header.key());
            pair.add(header.schema() == GIVEN ? (byte[]) header.value()
                : headerConverter.fromConnectHeader(topic, header.key(), header.schema(), header.value()));
        }
        return found;
    }

    private static void describe(ObjectNode answer, String step, Exception error) {
        ObjectNode found = answer.putObject("error");
        found.put("step", step);
        found.put("type", error.getClass().getName());
        found.put("message", error.getMessage());
    }

    private static String text(JsonNode node) {
        return node.isNull() ? null : node.asText();
    }

    private static byte[] bytes(JsonNode node) throws Exception {
        return node.isNull() ? null : node.binaryValue();
    }
}
