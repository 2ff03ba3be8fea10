import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.Scanner;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.AbstractStatus;
import org.apache.kafka.connect.storage.KafkaStatusBackingStore;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * What Connect's own status store shows after a log of records.
 *
 * A line of input is a log: records separated by spaces, each `key=value`, the value in base64 or `-` for a tombstone.
 * A line of output is what the store then holds of connector `c` and task `c-0`: `STATE worker generation` or `-`.
 */
public class StatusReader {
    public static void main(String[] arguments) throws Exception {
        Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8);
        while (lines.hasNextLine()) {
            KafkaStatusBackingStore store = store();
            Method read = KafkaStatusBackingStore.class.getDeclaredMethod("read", ConsumerRecord.class);
            read.setAccessible(true);
            long offset = 0;
            for (String record : lines.nextLine().split(" ")) {
                int cut = record.indexOf('=');
                String value = record.substring(cut + 1);
                byte[] bytes = value.equals("-") ? null : Base64.getDecoder().decode(value);
                read.invoke(store, new ConsumerRecord<>("status", 0, offset++, record.substring(0, cut), bytes));
            }
            System.out.println(shown(store.get("c")) + ", " + shown(store.get(new ConnectorTaskId("c", 0))));
        }
    }

    private static String shown(AbstractStatus<?> status) {
        return status == null ? "-" : status.state() + " " + status.workerId() + " " + status.generation();
    }

    /** The constructor differs between releases; the one for tests takes the log, which reading does not use. */
    private static KafkaStatusBackingStore store() throws Exception {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false"), false);
        for (Constructor<?> one : KafkaStatusBackingStore.class.getDeclaredConstructors()) {
            Class<?>[] types = one.getParameterTypes();
            if (types[types.length - 1].getSimpleName().equals("KafkaBasedLog")) {
                one.setAccessible(true);
                Object[] given = new Object[types.length];
                for (int at = 0; at < types.length; at++) {
                    given[at] = types[at] == Time.class ? Time.SYSTEM
                        : types[at] == String.class ? "status"
                        : types[at].isInstance(converter) ? converter : null;
                }
                return (KafkaStatusBackingStore) one.newInstance(given);
            }
        }
        throw new IllegalStateException("no constructor that takes a log");
    }
}
