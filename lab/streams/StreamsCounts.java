import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/**
 * One process of a Streams application of the new protocol: `StreamsCounts bootstrap application folder threads topic...`.
 *
 * Each topic is a subtopology that counts records by key in a store in memory. The process leaves the group when it is
 * asked to end (SIGTERM), and falls silent when it is killed. `folder` is for what the process keeps of its state.
 */
public class StreamsCounts {
    public static void main(String[] arguments) {
        Properties configs = new Properties();
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("application.id", arguments[1]);
        configs.put("state.dir", arguments[2]);
        configs.put("num.stream.threads", arguments[3]);
        configs.put("group.protocol", "streams");
        configs.put("replication.factor", "1");
        configs.put("default.key.serde", Serdes.ByteArray().getClass());
        configs.put("default.value.serde", Serdes.ByteArray().getClass());
        configs.put(
            "dsl.store.suppliers.class",
            "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
        );
        StreamsBuilder builder = new StreamsBuilder();
        for (int at = 4; at < arguments.length; at++) {
            builder.<byte[], byte[]>stream(arguments[at]).groupByKey().count();
        }
        KafkaStreams streams = new KafkaStreams(builder.build(), configs);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        streams.start();
    }
}
