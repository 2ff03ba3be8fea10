import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.TaskId;

/**
 * One process of a Streams application of the classic protocol: `StreamsProbing topic rate config=value...`.
 *
 * It counts the records of the topic by key in a store in memory. Its copies restore `rate` records a second. Kafka
 * refuses probing intervals below one minute; this process takes them, so that many rounds fit into minutes. It prints
 * its topology, and ends on SIGTERM.
 */
public class StreamsProbing {
    private static final String INTERVAL = "probing.rebalance.interval.ms";

    public static void main(String[] arguments) throws Exception {
        double rate = Double.parseDouble(arguments[1]);
        Properties configs = new Properties();
        for (int at = 2; at < arguments.length; at++) {
            String[] pair = arguments[at].split("=", 2);
            configs.put(pair[0], pair[1]);
        }
        allowShortIntervals();
        StreamsBuilder builder = new StreamsBuilder();
        builder.<byte[], byte[]>stream(arguments[0]).groupByKey().count();
        Topology topology = builder.build();
        System.out.println(topology.describe());
        KafkaStreams streams = new KafkaStreams(topology, configs);
        streams.setStandbyUpdateListener(new Slow(rate));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        streams.start();
    }

    /** Takes the check of the smallest value away; everything else of the configuration stays. */
    private static void allowShortIntervals() throws Exception {
        Field field = StreamsConfig.class.getDeclaredField("CONFIG");
        field.setAccessible(true);
        ConfigDef definition = (ConfigDef) field.get(null);
        ConfigDef.ConfigKey key = definition.configKeys().remove(INTERVAL);
        definition.define(INTERVAL, key.type, key.defaultValue, key.importance, key.documentation);
    }

    /** Sleeps after each batch for so long that copies restore `rate` records a second. */
    private record Slow(double rate) implements StandbyUpdateListener {
        @Override
        public void onUpdateStart(TopicPartition partition, String store, long offset) {
        }

        @Override
        public void onBatchLoaded(
            TopicPartition partition, String store, TaskId task, long batchEnd, long batchSize, long end
        ) {
            try {
                Thread.sleep((long) (1000 * batchSize / rate));
            } catch (InterruptedException why) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void onUpdateSuspended(
            TopicPartition partition, String store, long offset, long end, SuspendReason reason
        ) {
        }
    }
}
