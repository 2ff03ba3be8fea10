import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Members of a share group in one process, by Kafka's own client: `ShareMembers bootstrap group member...`.
 *
 * A member is what it subscribes to, separated by commas; behind a `>`, what it subscribes to some seconds later. All
 * of them leave when the process is asked to end (SIGTERM), and fall silent when it is killed.
 */
public class ShareMembers {
    private static final long CHANGE_AFTER_MS = 6_000;

    public static void main(String[] arguments) throws InterruptedException {
        List<Member> members = new ArrayList<>();
        for (int at = 2; at < arguments.length; at++) {
            members.add(new Member(arguments[0], arguments[1], arguments[at]));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> members.forEach(Member::leave)));
        members.forEach(Thread::start);
        for (Member member : members) {
            member.join();
        }
    }

    private static final class Member extends Thread {
        private final KafkaShareConsumer<byte[], byte[]> consumer;
        private final String[] subscriptions;

        Member(String bootstrap, String group, String subscriptions) {
            this.subscriptions = subscriptions.split(">");
            this.consumer = new KafkaShareConsumer<>(
                Map.of("bootstrap.servers", bootstrap, "group.id", group),
                new ByteArrayDeserializer(),
                new ByteArrayDeserializer()
            );
        }

        @Override
        public void run() {
            long began = System.nanoTime();
            boolean changed = subscriptions.length == 1;
            try {
                consumer.subscribe(topics(0));
                while (true) {
                    consumer.poll(Duration.ofMillis(200));
                    if (!changed && System.nanoTime() - began > CHANGE_AFTER_MS * 1_000_000) {
                        changed = true;
                        consumer.subscribe(topics(1));
                    }
                }
            } catch (WakeupException asked) {
                consumer.close(Duration.ofSeconds(5));
            }
        }

        void leave() {
            consumer.wakeup();
            try {
                join(8_000);
            } catch (InterruptedException why) {
                currentThread().interrupt();
            }
        }

        private Set<String> topics(int which) {
            return Set.of(subscriptions[which].split(","));
        }
    }
}
