import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.UUID;

/**
 * Runs Kafka Streams' own task assignors of any release from 2.6 on: Kafka's classes are known by name only, so one
 * source serves all of them and needs none of them to compile. What the leader would learn from the cluster (racks) is
 * put into the assignor's fields.
 *
 * Standard input: applications (layout in lab/oracle/streams_runner.py); standard output: one answer per application.
 */
public final class StreamsAssignors {
    private static final String INTERNALS = "org.apache.kafka.streams.processor.internals.";
    private static final String ASSIGNMENT = INTERNALS + "assignment.";
    private static final String PUBLIC = "org.apache.kafka.streams.processor.assignment.";
    private static final String TASK_ID = "org.apache.kafka.streams.processor.TaskId";

    private record Task(String id, int subtopology, int partition, boolean stateful, long end, List<String> sources,
                        List<String> changelogs) { }

    private record Consumer(String id, Optional<String> rack, List<String> owned, Map<String, Long> sums) { }

    private record Client(UUID id, Map<String, String> tags, List<Consumer> consumers) { }

    private record Configs(long lag, int warmups, int standbys, long probing, List<String> tags, Integer traffic,
                           Integer nonOverlap, String strategy) { }

    private record Application(String assignor, Configs configs, List<Task> tasks, List<Client> clients,
                               boolean racksKnown, Map<String, Set<String>> racks) { }

    /** Everything that one call of `assign` is given and changes. */
    private record Prepared(Object assignor, Map<Object, Object> clients, Object[] arguments, Method assign) { }

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        while (true) {
            Application application;
            int repeats;
            try {
                repeats = in.readInt();
                application = readApplication(in);
            } catch (EOFException end) {
                break;
            }
            answer(application, out);
            for (int repeat = 0; repeat < repeats; repeat++) {
                Prepared prepared = prepare(application);
                long began = cpuNs();
                prepared.assign.invoke(prepared.assignor, prepared.arguments);
                out.writeLong(cpuNs() - began);
            }
            out.flush();
        }
    }

    /** This thread's processor time: other load on the machine does not count. */
    private static long cpuNs() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static void answer(Application application, DataOutputStream out) throws Exception {
        try {
            Prepared prepared = prepare(application);
            boolean followup = (Boolean) prepared.assign.invoke(prepared.assignor, prepared.arguments);
            Map<Client, List<Map<String, List<Object>>>> threads = new LinkedHashMap<>();
            for (Client client : application.clients) {
                threads.put(client, threads(client, prepared.clients.get(processId(client.id))));
            }
            out.writeInt(application.clients.size());
            out.writeBoolean(followup);
            for (Client client : application.clients) {
                Object state = prepared.clients.get(processId(client.id));
                writeString(out, client.id.toString());
                writeTasks(out, tasks(state, "activeTasks"));
                writeTasks(out, tasks(state, "standbyTasks"));
                out.writeInt(client.consumers.size());
                for (Consumer consumer : client.consumers) {
                    writeString(out, consumer.id);
                    writeTasks(out, threads.get(client).get(0).get(consumer.id));
                    writeTasks(out, threads.get(client).get(1).get(consumer.id));
                }
            }
        } catch (InvocationTargetException thrown) {
            out.writeInt(-1);
            writeString(out, thrown.getCause().getClass().getSimpleName());
        }
    }

    private static Prepared prepare(Application application) throws Exception {
        Map<String, Object> ids = new HashMap<>();
        Map<Object, Object> partitionsForTask = new HashMap<>();
        Map<Object, Object> changelogsForTask = new HashMap<>();
        Map<Object, Object> tasksForGroup = new HashMap<>();
        Map<Object, Object> taskForPartition = new HashMap<>();
        Map<Object, Long> ends = new HashMap<>();
        Set<Object> stateful = new HashSet<>();
        Constructor<?> newTask = Class.forName(TASK_ID).getConstructor(int.class, int.class);
        for (Task task : application.tasks) {
            Object id = newTask.newInstance(task.subtopology, task.partition);
            ids.put(task.id, id);
            partitionsForTask.put(id, partitions(task.sources));
            for (Object partition : partitions(task.sources)) {
                taskForPartition.put(partition, id);
            }
            if (task.stateful) {
                stateful.add(id);
                changelogsForTask.put(id, partitions(task.changelogs));
                ends.put(id, task.end);
            }
            Object group = group(task.subtopology);
            if (group != null) {
                @SuppressWarnings("unchecked")
                Set<Object> of = (Set<Object>) tasksForGroup.computeIfAbsent(group, key -> new HashSet<>());
                of.add(id);
            }
        }
        Map<Object, Object> clients = new HashMap<>();
        Map<Object, Map<String, Optional<String>>> racksForConsumer = new HashMap<>();
        for (Client client : application.clients) {
            Object processId = processId(client.id);
            clients.put(processId, clientState(client, processId, newTask, taskForPartition, ends));
            Map<String, Optional<String>> racks = new HashMap<>();
            client.consumers.forEach(consumer -> racks.put(consumer.id, consumer.rack));
            racksForConsumer.put(processId, racks);
        }
        Object configs = configs(application.configs);
        Object assignor = assignor(application.assignor);
        Method assign = method(assignor.getClass(), "assign");
        List<Object> arguments = new ArrayList<>(List.of(clients, partitionsForTask.keySet(), stateful));
        if (assign.getParameterCount() == 5) {
            arguments.add(racks(application, configs, partitionsForTask, changelogsForTask, tasksForGroup,
                racksForConsumer));
        }
        arguments.add(configs);
        return new Prepared(assignor, clients, arguments.toArray(), assign);
    }

    private static Object clientState(Client client, Object processId, Constructor<?> newTask,
                                      Map<Object, Object> taskForPartition, Map<Object, Long> ends) throws Exception {
        Class<?> type = Class.forName(ASSIGNMENT + "ClientState");
        Object state = null;
        for (Constructor<?> make : type.getDeclaredConstructors()) {
            Class<?>[] given = make.getParameterTypes();
            make.setAccessible(true);
            if (given.length == 2 && given[0] == processId.getClass() && given[1] == Map.class) {
                state = make.newInstance(processId, client.tags);
            } else if (given.length == 1 && given[0] == Map.class) {
                state = make.newInstance(client.tags);
            }
        }
        if (state == null) {
            Constructor<?> make = type.getDeclaredConstructor();
            make.setAccessible(true);
            state = make.newInstance();
        }
        for (Consumer consumer : client.consumers) {
            method(type, "incrementCapacity").invoke(state);
            method(type, "addOwnedPartitions").invoke(state, partitions(consumer.owned), consumer.id);
            Map<Object, Long> sums = new HashMap<>();
            for (Map.Entry<String, Long> one : consumer.sums.entrySet()) {
                String[] parts = one.getKey().split("_");
                sums.put(newTask.newInstance(Integer.parseInt(parts[0]), Integer.parseInt(parts[1])), one.getValue());
            }
            method(type, "addPreviousTasksAndOffsetSums").invoke(state, consumer.id, sums);
        }
        Method initialize = method(type, "initializePrevTasks");
        if (initialize.getParameterCount() == 2) {
            initialize.invoke(state, taskForPartition, false);
        } else {
            initialize.invoke(state, taskForPartition);
        }
        method(type, "computeTaskLags").invoke(state, processId, ends);
        return state;
    }

    private static Object racks(Application application, Object configs, Map<Object, Object> partitionsForTask,
                                Map<Object, Object> changelogsForTask, Map<Object, Object> tasksForGroup,
                                Map<Object, Map<String, Optional<String>>> racksForConsumer) throws Exception {
        Class<?> type = Class.forName(ASSIGNMENT + "RackAwareTaskAssignor");
        Class<?> time = Class.forName("org.apache.kafka.common.utils.Time");
        Object clock = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {time}, (proxy, called, given) -> 0L);
        Object cluster = Class.forName("org.apache.kafka.common.Cluster").getMethod("empty").invoke(null);
        Object made = type.getDeclaredConstructors()[0].newInstance(cluster, partitionsForTask, changelogsForTask,
            tasksForGroup, racksForConsumer, null, configs, clock);
        Field racks = type.getDeclaredField("racksForPartition");
        racks.setAccessible(true);
        @SuppressWarnings("unchecked")
        Map<Object, Object> known = (Map<Object, Object>) racks.get(made);
        for (Map.Entry<String, Set<String>> one : application.racks.entrySet()) {
            known.put(partition(one.getKey()), one.getValue());
        }
        Field enabled = type.getDeclaredField("canEnable");
        enabled.setAccessible(true);
        enabled.set(made, application.racksKnown);
        return made;
    }

    /** Actives and standbys of each thread, in Kafka's order. */
    private static List<Map<String, List<Object>>> threads(Client client, Object state) throws Exception {
        SortedSet<String> consumers = new TreeSet<>();
        client.consumers.forEach(consumer -> consumers.add(consumer.id));
        Method assign = method(Class.forName(INTERNALS + "StreamsPartitionAssignor"), "assignTasksToThreads");
        Object stateful = call(state, "statefulActiveTasks");
        Object stateless = call(state, "statelessActiveTasks");
        Object standbys = call(state, "standbyTasks");
        if (assign.getParameterCount() == 4) {
            return List.of(shares(assign.invoke(null, stateful, stateless, consumers, state)),
                shares(assign.invoke(null, standbys, Collections.emptySet(), consumers, state)));
        }
        Map<String, Integer> load = new HashMap<>();
        Map<String, List<Object>> actives = shares(assign.invoke(null, stateful, true, consumers, state, load));
        Map<String, List<Object>> copies = shares(assign.invoke(null, standbys, true, consumers, state, load));
        shares(assign.invoke(null, stateless, false, consumers, state, load))
            .forEach((consumer, tasks) -> actives.get(consumer).addAll(tasks));
        return List.of(actives, copies);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, List<Object>> shares(Object given) {
        return (Map<String, List<Object>>) given;
    }

    private static Object assignor(String name) throws Exception {
        Class<?> type;
        try {
            type = Class.forName(ASSIGNMENT + name);
        } catch (ClassNotFoundException renamed) {
            type = Class.forName(ASSIGNMENT + name.replace("Legacy", ""));
        }
        Constructor<?> make = type.getDeclaredConstructor();
        make.setAccessible(true);
        return make.newInstance();
    }

    private static Object configs(Configs given) throws Exception {
        Class<?> type;
        try {
            type = Class.forName(PUBLIC + "AssignmentConfigs");
        } catch (ClassNotFoundException older) {
            type = Class.forName(ASSIGNMENT + "AssignorConfiguration$AssignmentConfigs");
        }
        Constructor<?> longest = null;
        for (Constructor<?> make : type.getDeclaredConstructors()) {
            // One of two equally long ones takes costs that must be there.
            boolean optional = make.getParameterCount() < 6 || make.getParameterTypes()[5] != int.class;
            if (optional && (longest == null || make.getParameterCount() > longest.getParameterCount())) {
                longest = make;
            }
        }
        longest.setAccessible(true);
        Class<?>[] wanted = longest.getParameterTypes();
        Object[] all = {given.lag, given.warmups, given.standbys, given.probing, given.tags, given.traffic,
            given.nonOverlap, given.strategy};
        Object[] arguments = new Object[wanted.length];
        for (int at = 0; at < wanted.length; at++) {
            Integer cost = all[at] == null || all[at] instanceof Integer ? (Integer) all[at] : null;
            arguments[at] = wanted[at] != OptionalInt.class ? all[at]
                : cost == null ? OptionalInt.empty() : OptionalInt.of(cost);
        }
        return longest.newInstance(arguments);
    }

    private static Object processId(UUID id) throws Exception {
        try {
            return Class.forName(PUBLIC + "ProcessId").getConstructor(UUID.class).newInstance(id);
        } catch (ClassNotFoundException older) {
            return id;
        }
    }

    private static Object group(int number) throws Exception {
        try {
            return Class.forName(INTERNALS + "TopologyMetadata$Subtopology")
                .getConstructor(int.class, String.class).newInstance(number, null);
        } catch (ClassNotFoundException older) {
            return null;
        }
    }

    private static Set<Object> partitions(List<String> texts) throws Exception {
        Set<Object> found = new HashSet<>();
        for (String text : texts) {
            found.add(partition(text));
        }
        return found;
    }

    private static Object partition(String text) throws Exception {
        int at = text.lastIndexOf('-');
        return Class.forName("org.apache.kafka.common.TopicPartition").getConstructor(String.class, int.class)
            .newInstance(text.substring(0, at), Integer.parseInt(text.substring(at + 1)));
    }

    private static Method method(Class<?> type, String name) {
        for (Method found : type.getDeclaredMethods()) {
            if (found.getName().equals(name) && !found.isBridge()) {
                found.setAccessible(true);
                return found;
            }
        }
        throw new IllegalStateException(type + " has no method " + name);
    }

    private static Object call(Object on, String name) throws Exception {
        return method(on.getClass(), name).invoke(on);
    }

    @SuppressWarnings("unchecked")
    private static Collection<Object> tasks(Object state, String name) throws Exception {
        return new TreeSet<>((Collection<Object>) call(state, name));
    }

    private static Application readApplication(DataInputStream in) throws IOException {
        String assignor = readString(in);
        Configs configs = new Configs(in.readLong(), in.readInt(), in.readInt(), in.readLong(), readStrings(in),
            readCost(in), readCost(in), readString(in));
        List<Task> tasks = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            tasks.add(new Task(readString(in), in.readInt(), in.readInt(), in.readBoolean(), in.readLong(),
                readStrings(in), readStrings(in)));
        }
        List<Client> clients = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            clients.add(readClient(in));
        }
        boolean racksKnown = in.readBoolean();
        Map<String, Set<String>> racks = new HashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            racks.put(readString(in), new HashSet<>(readStrings(in)));
        }
        return new Application(assignor, configs, tasks, clients, racksKnown, racks);
    }

    private static Client readClient(DataInputStream in) throws IOException {
        UUID id = UUID.fromString(readString(in));
        Map<String, String> tags = new LinkedHashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            tags.put(readString(in), readString(in));
        }
        List<Consumer> consumers = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            String name = readString(in);
            Optional<String> rack = in.readBoolean() ? Optional.of(readString(in)) : Optional.empty();
            List<String> owned = readStrings(in);
            Map<String, Long> sums = new LinkedHashMap<>();
            for (int more = in.readInt(); more > 0; more--) {
                sums.put(readString(in), in.readLong());
            }
            consumers.add(new Consumer(name, rack, owned, sums));
        }
        return new Client(id, tags, consumers);
    }

    private static Integer readCost(DataInputStream in) throws IOException {
        return in.readBoolean() ? in.readInt() : null;
    }

    private static List<String> readStrings(DataInputStream in) throws IOException {
        List<String> found = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            found.add(readString(in));
        }
        return found;
    }

    private static String readString(DataInputStream in) throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }

    private static void writeTasks(DataOutputStream out, Collection<Object> tasks) throws IOException {
        out.writeInt(tasks.size());
        for (Object task : tasks) {
            writeString(out, task.toString());
        }
    }

    private static void writeString(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
