import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Runs the group coordinator's own assignors, whatever the release on the class path: Kafka's classes are known by name
 * only, so one source serves all of them. Previous targets go through the class that reads them from a record.
 *
 * Standard input: groups (layout in lab/oracle/broker_runner.py); standard output: one answer per group.
 */
public final class BrokerAssignors {
    private static final String GROUP = "org.apache.kafka.coordinator.group.";
    private static final String STREAMS = GROUP + "streams.assignor.";
    private static final String[] ASSIGNORS = {"UniformAssignor", "RangeAssignor", "SimpleAssignor"};
    private static final int STREAMS_GROUP = 3;
    private static final List<String> ROLES = List.of("activeTasks", "standbyTasks", "warmupTasks");

    private record Topic(Object id, int partitions, List<Set<String>> racks) { }

    private record Run(Object assignor, Object spec, Object describer, Map<String, Object> members) { }

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        while (true) {
            int kind;
            try {
                kind = in.readInt();
            } catch (EOFException end) {
                break;
            }
            int repeats = in.readInt();
            boolean streams = kind == STREAMS_GROUP;
            Run run = streams ? streamsRun(in) : groupRun(ASSIGNORS[kind], in);
            answer(run, streams, out);
            for (int repeat = 0; repeat < repeats; repeat++) {
                long began = cpuNs();
                assign(run);
                out.writeLong(cpuNs() - began);
            }
            out.flush();
        }
    }

    private static void answer(Run run, boolean streams, DataOutputStream out) throws Exception {
        Object result;
        long began = cpuNs();
        try {
            result = assign(run);
        } catch (InvocationTargetException thrown) {
            out.writeLong(cpuNs() - began);
            out.writeInt(-1);
            writeString(out, thrown.getCause().getClass().getSimpleName());
            return;
        }
        out.writeLong(cpuNs() - began);
        Map<?, ?> members = (Map<?, ?>) call(result, "members");
        out.writeInt(run.members.size());
        for (String id : run.members.keySet()) {
            writeString(out, id);
            Object assignment = members.get(id);
            if (assignment == null) {
                out.writeInt(-1);
            } else if (streams) {
                out.writeInt(ROLES.size());
                for (String role : ROLES) {
                    writePartitions(out, (Map<?, ?>) call(assignment, role));
                }
            } else {
                out.writeInt(1);
                boolean early = has(assignment.getClass(), "targetPartitions");
                writePartitions(out, (Map<?, ?>) call(assignment, early ? "targetPartitions" : "partitions"));
            }
        }
    }

    private static Object assign(Run run) throws Exception {
        for (Method method : run.assignor.getClass().getMethods()) {
            if (method.getName().equals("assign") && !method.isBridge()) {
                return method.invoke(run.assignor, run.spec, run.describer);
            }
        }
        throw new NoSuchMethodException("assign");
    }

    private static Run groupRun(String assignor, DataInputStream in) throws Exception {
        boolean homogeneous = in.readBoolean();
        Map<String, Topic> byName = new HashMap<>();
        Map<Object, Topic> byId = new HashMap<>();
        Map<Object, String> nameOf = new HashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            Object id = uuid(in);
            String name = readString(in);
            List<Set<String>> racks = new ArrayList<>();
            int partitions = in.readInt();
            for (int partition = 0; partition < partitions; partition++) {
                racks.add(new HashSet<>(readStrings(in)));
            }
            Topic topic = new Topic(id, partitions, racks);
            byName.put(name, topic);
            byId.put(id, topic);
            nameOf.put(id, name);
        }
        Map<String, Object> members = new HashMap<>();
        Map<Object, Map<Integer, String>> owners = new HashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            String id = readString(in);
            String instance = in.readBoolean() ? readString(in) : null;
            String rack = in.readBoolean() ? readString(in) : null;
            Set<String> names = new HashSet<>(readStrings(in));
            Object assignment = readAssignment(in, id, owners);
            Set<Object> topics = new TopicIds(names, byName, nameOf);
            members.put(id, memberSpec(instance, rack, topics, assignment));
        }
        Object describer = proxy(describerClass(), (method, given) -> {
            Topic topic = byId.get(given[0]);
            return switch (method) {
                case "numPartitions" -> topic == null ? -1 : topic.partitions;
                case "racksForPartition" -> topic == null ? Set.of() : topic.racks.get((Integer) given[1]);
                default -> null;
            };
        });
        Object made = Class.forName(GROUP + "assignor." + assignor).getConstructor().newInstance();
        return new Run(made, groupSpec(members, homogeneous, owners), describer, members);
    }

    private static Object readAssignment(DataInputStream in, String member, Map<Object, Map<Integer, String>> owners)
            throws Exception {
        Class<?> record = Class.forName(GROUP + "generated.ConsumerGroupTargetAssignmentMemberValue");
        Class<?> entry = Class.forName(record.getName() + "$TopicPartition");
        List<Object> entries = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            Object id = uuid(in);
            List<Integer> partitions = readInts(in);
            Object made = entry.getConstructor().newInstance();
            entry.getMethod("setTopicId", id.getClass()).invoke(made, id);
            entry.getMethod("setPartitions", List.class).invoke(made, partitions);
            entries.add(made);
            partitions.forEach(one -> owners.computeIfAbsent(id, key -> new HashMap<>()).put(one, member));
        }
        Object value = record.getConstructor().newInstance();
        record.getMethod("setTopicPartitions", List.class).invoke(value, entries);
        return modern("Assignment").getMethod("fromRecord", record).invoke(null, value);
    }

    private static Object memberSpec(String instance, String rack, Set<Object> topics, Object assignment)
            throws Exception {
        if (early()) {
            Class<?> spec = Class.forName(GROUP + "assignor.AssignmentMemberSpec");
            return spec.getConstructors()[0].newInstance(Optional.ofNullable(instance), Optional.ofNullable(rack),
                copied(topics), call(assignment, "partitions"));
        }
        Constructor<?> made = modern("MemberSubscriptionAndAssignmentImpl").getConstructors()[0];
        return made.getParameterCount() == 3
            ? made.newInstance(Optional.ofNullable(rack), topics, assignment)
            : made.newInstance(Optional.ofNullable(rack), Optional.ofNullable(instance), topics, assignment);
    }

    /** 3.7 gives the assignor a set of its own; adding one by one, as the coordinator does. */
    private static Set<Object> copied(Set<Object> topics) {
        Set<Object> own = new HashSet<>();
        for (Object topic : topics) {
            own.add(topic);
        }
        return own;
    }

    private static Object groupSpec(Map<String, Object> members, boolean homogeneous,
                                    Map<Object, Map<Integer, String>> owners) throws Exception {
        Map<String, Object> unmodifiable = Collections.unmodifiableMap(members);
        if (early()) {
            return Class.forName(GROUP + "assignor.AssignmentSpec").getConstructor(Map.class).newInstance(unmodifiable);
        }
        Class<?> type = Class.forName(GROUP + "api.assignor.SubscriptionType");
        Object kind = type.getField(homogeneous ? "HOMOGENEOUS" : "HETEROGENEOUS").get(null);
        return modern("GroupSpecImpl").getConstructor(Map.class, type, Map.class)
            .newInstance(unmodifiable, kind, owners);
    }

    private static Run streamsRun(DataInputStream in) throws Exception {
        Map<String, String> configs = new HashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            configs.put(readString(in), readString(in));
        }
        Map<String, Integer> partitions = new TreeMap<>();
        Set<String> stateful = new HashSet<>();
        for (int left = in.readInt(); left > 0; left--) {
            String id = readString(in);
            partitions.put(id, in.readInt());
            if (in.readBoolean()) {
                stateful.add(id);
            }
        }
        Map<String, Object> members = new HashMap<>();
        Constructor<?> spec = Class.forName(STREAMS + "AssignmentMemberSpec").getConstructors()[0];
        for (int left = in.readInt(); left > 0; left--) {
            String id = readString(in);
            String process = readString(in);
            Map<String, Set<Integer>> active = readTasks(in);
            Map<String, Set<Integer>> standby = readTasks(in);
            members.put(id, spec.newInstance(Optional.empty(), Optional.empty(), active, standby, Map.of(), process,
                Map.of(), Map.of(), Map.of()));
        }
        List<String> ordered = List.copyOf(partitions.keySet());
        Object describer = proxy(Class.forName(STREAMS + "TopologyDescriber"), (method, given) -> switch (method) {
            case "subtopologies" -> ordered;
            case "maxNumInputPartitions" -> partitions.get((String) given[0]);
            case "isStateful" -> stateful.contains((String) given[0]);
            default -> null;
        });
        Object made = Class.forName(STREAMS + "StickyTaskAssignor").getConstructor().newInstance();
        Object group = Class.forName(STREAMS + "GroupSpecImpl").getConstructor(Map.class, Map.class)
            .newInstance(members, configs);
        return new Run(made, group, describer, members);
    }

    private static Map<String, Set<Integer>> readTasks(DataInputStream in) throws IOException {
        Map<String, Set<Integer>> tasks = new HashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            String subtopology = readString(in);
            tasks.put(subtopology, new HashSet<>(readInts(in)));
        }
        return tasks;
    }

    private static boolean early() {
        return exists(GROUP + "assignor.AssignmentSpec");
    }

    private static Class<?> describerClass() throws ClassNotFoundException {
        return Class.forName(GROUP + (early() ? "assignor." : "api.assignor.") + "SubscribedTopicDescriber");
    }

    private static Class<?> modern(String name) throws ClassNotFoundException {
        String now = GROUP + "modern." + name;
        return Class.forName(exists(now) ? now : GROUP + "consumer." + name);
    }

    private static boolean exists(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException absent) {
            return false;
        }
    }

    private static boolean has(Class<?> type, String method) {
        for (Method one : type.getMethods()) {
            if (one.getName().equals(method)) {
                return true;
            }
        }
        return false;
    }

    private interface Answer {
        Object to(String method, Object[] given);
    }

    private static Object proxy(Class<?> type, Answer answer) {
        return Proxy.newProxyInstance(BrokerAssignors.class.getClassLoader(), new Class<?>[] {type},
            (self, method, given) -> answer.to(method.getName(), given));
    }

    private static Object call(Object object, String name) throws Exception {
        Method method = object.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(object);
    }

    private static Object uuid(DataInputStream in) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.common.Uuid");
        return type.getConstructor(long.class, long.class).newInstance(in.readLong(), in.readLong());
    }

    private static long cpuNs() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static String readString(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static List<String> readStrings(DataInputStream in) throws IOException {
        List<String> read = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            read.add(readString(in));
        }
        return read;
    }

    private static List<Integer> readInts(DataInputStream in) throws IOException {
        List<Integer> read = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            read.add(in.readInt());
        }
        return read;
    }

    private static void writeString(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static void writePartitions(DataOutputStream out, Map<?, ?> partitions) throws IOException {
        out.writeInt(partitions.size());
        for (Map.Entry<?, ?> one : partitions.entrySet()) {
            writeString(out, one.getKey().toString());
            Set<?> numbers = (Set<?>) one.getValue();
            out.writeInt(numbers.size());
            for (Object number : numbers) {
                out.writeInt((Integer) number);
            }
        }
    }

    /** As the coordinator's class of that name: ids of the names that exist, in the names' order; counts all names. */
    private static final class TopicIds extends AbstractSet<Object> {
        private final Set<String> names;
        private final Map<String, Topic> topics;
        private final Map<Object, String> nameOf;

        private TopicIds(Set<String> names, Map<String, Topic> topics, Map<Object, String> nameOf) {
            this.names = names;
            this.topics = topics;
            this.nameOf = nameOf;
        }

        @Override
        public Iterator<Object> iterator() {
            return names.stream().filter(topics::containsKey).map(name -> topics.get(name).id()).iterator();
        }

        @Override
        public int size() {
            return names.size();
        }

        @Override
        public boolean contains(Object id) {
            String name = nameOf.get(id);
            return name != null && names.contains(name);
        }
    }
}
