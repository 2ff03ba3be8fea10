import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs the consumer's own assignors, whatever the release on the class path: Kafka's classes are known by name only, so
 * one source serves all of them and needs none of them to compile. Each group gets an assignor of its own.
 *
 * Standard input: groups (layout in lab/oracle/consumer_runner.py); standard output: one answer per group.
 */
public final class ConsumerAssignors {
    private static final String CONSUMER = "org.apache.kafka.clients.consumer.";
    private static final String COMMON = "org.apache.kafka.common.";

    private static final int TIME_NOTHING = 0;
    private static final int TIME_BYTES_TO_BYTES = 1;

    private record Member(String id, String instanceId, byte[] subscription) { }

    private record Group(String assignor, int timed, int repeats, Object cluster, List<Member> members) { }

    private static Method deserialize;
    private static Method serialize;

    public static void main(String[] arguments) throws Exception {
        Class<?> protocol = Class.forName(CONSUMER + "internals.ConsumerProtocol");
        deserialize = method(protocol, "deserializeSubscription", 1);
        serialize = method(protocol, "serializeAssignment", 1);
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        while (true) {
            Group group;
            try {
                group = readGroup(in);
            } catch (EOFException end) {
                break;
            }
            answer(group, out);
            for (int repeat = 0; repeat < group.repeats; repeat++) {
                out.writeLong(timeOnce(group));
            }
            out.flush();
        }
    }

    private static void answer(Group group, DataOutputStream out) throws Exception {
        Object assignor = assignor(group);
        Object subscriptions = subscriptions(group);
        long began = cpuNs();
        Map<?, ?> given;
        try {
            given = assign(assignor, group.cluster, subscriptions);
        } catch (InvocationTargetException thrown) {
            out.writeLong(cpuNs() - began);
            out.writeInt(-1);
            writeBytes(out, thrown.getCause().getClass().getSimpleName().getBytes(StandardCharsets.UTF_8));
            return;
        }
        out.writeLong(cpuNs() - began);
        out.writeInt(given.size());
        for (Map.Entry<?, ?> one : given.entrySet()) {
            writeBytes(out, ((String) one.getKey()).getBytes(StandardCharsets.UTF_8));
            List<?> partitions = (List<?>) method(one.getValue().getClass(), "partitions", 0).invoke(one.getValue());
            out.writeInt(partitions.size());
            for (Object partition : partitions) {
                Class<?> type = partition.getClass();
                String topic = (String) method(type, "topic", 0).invoke(partition);
                writeBytes(out, topic.getBytes(StandardCharsets.UTF_8));
                out.writeInt((Integer) method(type, "partition", 0).invoke(partition));
            }
            writeBytes(out, bytes((ByteBuffer) serialize.invoke(null, one.getValue())));
        }
    }

    /** This thread's processor time: other load on the machine does not count. */
    private static long cpuNs() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static long timeOnce(Group group) throws Exception {
        Object assignor = assignor(group);
        if (group.timed == TIME_BYTES_TO_BYTES) {
            long began = cpuNs();
            for (Object assignment : assign(assignor, group.cluster, subscriptions(group)).values()) {
                serialize.invoke(null, assignment);
            }
            return cpuNs() - began;
        }
        Object subscriptions = subscriptions(group);
        long began = cpuNs();
        assign(assignor, group.cluster, subscriptions);
        return cpuNs() - began;
    }

    private static Object assignor(Group group) throws Exception {
        String name = switch (group.assignor) {
            case "range" -> "RangeAssignor";
            case "roundrobin" -> "RoundRobinAssignor";
            case "sticky" -> "StickyAssignor";
            case "cooperative-sticky" -> "CooperativeStickyAssignor";
            default -> throw new IllegalArgumentException("no assignor " + group.assignor);
        };
        return Class.forName(CONSUMER + name).getDeclaredConstructor().newInstance();
    }

    /** What the leader's coordinator hands to the assignor; a plain map up to 2.3. */
    private static Object subscriptions(Group group) throws Exception {
        Map<String, Object> subscriptions = new HashMap<>();
        for (Member member : group.members) {
            Object subscription = deserialize.invoke(null, ByteBuffer.wrap(member.subscription));
            if (member.instanceId != null) {
                java.util.Optional<String> instanceId = java.util.Optional.of(member.instanceId);
                for (Method method : subscription.getClass().getMethods()) {
                    if (method.getName().equals("setGroupInstanceId")) {
                        method.invoke(subscription, instanceId);
                    }
                }
            }
            subscriptions.put(member.id, subscription);
        }
        try {
            return Class.forName(CONSUMER + "ConsumerPartitionAssignor$GroupSubscription")
                .getConstructor(Map.class).newInstance(subscriptions);
        } catch (ClassNotFoundException before24) {
            return subscriptions;
        }
    }

    private static Map<?, ?> assign(Object assignor, Object cluster, Object subscriptions) throws Exception {
        Class<?> wanted = subscriptions instanceof Map ? Map.class : subscriptions.getClass();
        Object given = assignor.getClass().getMethod("assign", cluster.getClass(), wanted)
            .invoke(assignor, cluster, subscriptions);
        return given instanceof Map
            ? (Map<?, ?>) given
            : (Map<?, ?>) method(given.getClass(), "groupAssignment", 0).invoke(given);
    }

    private static Method method(Class<?> type, String name, int parameters) throws NoSuchMethodException {
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == parameters
                    && (parameters == 0 || Modifier.isStatic(method.getModifiers()))) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new NoSuchMethodException(type.getName() + "." + name);
    }

    private static Group readGroup(DataInputStream in) throws Exception {
        String assignor = readString(in);
        int timed = in.readInt();
        int repeats = in.readInt();
        Class<?> node = Class.forName(COMMON + "Node");
        Map<Integer, Object> nodes = new LinkedHashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            int id = in.readInt();
            String rack = in.readBoolean() ? readString(in) : null;
            nodes.put(id, node.getConstructor(int.class, String.class, int.class, String.class)
                .newInstance(id, "localhost", 9092, rack));
        }
        Class<?> info = Class.forName(COMMON + "PartitionInfo");
        Class<?> several = Array.newInstance(node, 0).getClass();
        List<Object> partitions = new ArrayList<>();
        for (int topics = in.readInt(); topics > 0; topics--) {
            String topic = readString(in);
            int count = in.readInt();
            for (int number = 0; number < count; number++) {
                Object replicas = Array.newInstance(node, in.readInt());
                for (int at = 0; at < Array.getLength(replicas); at++) {
                    int id = in.readInt();
                    Object known = nodes.get(id);
                    Array.set(replicas, at, known != null ? known
                        : node.getConstructor(int.class, String.class, int.class).newInstance(id, "", -1));
                }
                Object leader = Array.getLength(replicas) == 0 ? null : Array.get(replicas, 0);
                partitions.add(info.getConstructor(String.class, int.class, node, several, several)
                    .newInstance(topic, number, leader, replicas, replicas));
            }
        }
        Object cluster = Class.forName(COMMON + "Cluster")
            .getConstructor(String.class, java.util.Collection.class, java.util.Collection.class, java.util.Set.class,
                java.util.Set.class)
            .newInstance("c", nodes.values(), partitions, Collections.emptySet(), Collections.emptySet());
        List<Member> members = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            members.add(new Member(readString(in), in.readBoolean() ? readString(in) : null, readBytes(in)));
        }
        return new Group(assignor, timed, timed == TIME_NOTHING ? 0 : repeats, cluster, members);
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    private static String readString(DataInputStream in) throws IOException {
        return new String(readBytes(in), StandardCharsets.UTF_8);
    }

    private static byte[] readBytes(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return bytes;
    }

    private static void writeBytes(DataOutputStream out, byte[] bytes) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
