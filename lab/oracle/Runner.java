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
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Runs Kafka Connect's own assignors, whatever the release on the class path: Kafka's classes are known by name only,
 * so one source serves all of them and needs none of them to compile. Only the group member around the assignor is
 * replaced: generation, config snapshots and clock are put in place instead of being learnt from a broker.
 *
 * Standard input: scenarios (layout in lab/oracle/runner.py); standard output: one answer per scenario.
 */
public final class Runner {
    private static final String CONNECT = "org.apache.kafka.connect.";
    private static final String DISTRIBUTED = CONNECT + "runtime.distributed.";
    private static final String COORDINATOR = "org.apache.kafka.clients.consumer.internals.AbstractCoordinator";
    private static final String JOINED = "org.apache.kafka.common.message.JoinGroupResponseData$JoinGroupResponseMember";

    private static final int TIME_NOTHING = 0;
    private static final int TIME_BYTES_TO_BYTES = 1;
    private static final int TIME_SETS_ONLY = 2;

    private static long nowMs;
    private static sun.misc.Unsafe unsafe;
    private static Object clock;

    private record Config(long offset, Map<String, Integer> connectors) { }

    private record Member(String id, byte[] subscription) { }

    private record Round(long nowMs, int generation, int lastCompleted, String protocol, String leader, String process,
                         Config config, Config freshConfig, List<Member> members) { }

    private record Scenario(int maxDelayMs, int timed, int repeats, List<Round> rounds) { }

    public static void main(String[] arguments) throws Exception {
        Field theUnsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        theUnsafe.setAccessible(true);
        unsafe = (sun.misc.Unsafe) theUnsafe.get(null);
        Class<?> time = Class.forName("org.apache.kafka.common.utils.Time");
        clock = Proxy.newProxyInstance(Runner.class.getClassLoader(), new Class<?>[] {time}, (proxy, method, given) ->
            switch (method.getName()) {
                case "milliseconds", "hiResClockMs" -> nowMs;
                case "nanoseconds" -> nowMs * 1_000_000L;
                default -> null;
            });
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        while (true) {
            Scenario scenario;
            try {
                scenario = readScenario(in);
            } catch (EOFException end) {
                break;
            }
            play(scenario, out);
            out.flush();
        }
    }

    private static void play(Scenario scenario, DataOutputStream out) throws Exception {
        Map<String, Object> assignors = new HashMap<>();
        for (Round round : scenario.rounds) {
            nowMs = round.nowMs;
            Object assignor = assignor(assignors, scenario, round);
            Method method = method(assignor.getClass(), "performAssignment", null);
            Object[] arguments = arguments(method, round, joined(round), coordinator(round));
            long began = cpuNs();
            try {
                @SuppressWarnings("unchecked")
                Map<String, ByteBuffer> given = (Map<String, ByteBuffer>) method.invoke(assignor, arguments);
                out.writeLong(cpuNs() - began);
                out.writeInt(given.size());
                for (Map.Entry<String, ByteBuffer> one : given.entrySet()) {
                    writeBytes(out, one.getKey().getBytes(StandardCharsets.UTF_8));
                    byte[] bytes = new byte[one.getValue().remaining()];
                    one.getValue().duplicate().get(bytes);
                    writeBytes(out, bytes);
                }
            } catch (InvocationTargetException thrown) {
                out.writeLong(cpuNs() - began);
                out.writeInt(-1);
                writeBytes(out, thrown.getCause().toString().getBytes(StandardCharsets.UTF_8));
            }
        }
        for (int repeat = 0; repeat < scenario.repeats; repeat++) {
            out.writeLong(timeLastRound(scenario));
        }
    }

    /** This thread's processor time: other load on the machine does not count. */
    private static long cpuNs() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** Plays the scenario anew and times its last round only. */
    private static long timeLastRound(Scenario scenario) throws Exception {
        Map<String, Object> assignors = new HashMap<>();
        int last = scenario.rounds.size() - 1;
        for (Round round : scenario.rounds.subList(0, last)) {
            nowMs = round.nowMs;
            assign(assignor(assignors, scenario, round), round);
        }
        Round round = scenario.rounds.get(last);
        nowMs = round.nowMs;
        Object assignor = assignor(assignors, scenario, round);
        Object coordinator = coordinator(round);
        if (scenario.timed == TIME_SETS_ONLY) {
            Map<String, Object> held = heldJobs(round);
            Object config = config(round.config);
            Method method = method(assignor.getClass(), "performTaskAssignment", config.getClass());
            long began = cpuNs();
            method.invoke(assignor, config, round.lastCompleted, round.generation, held);
            return cpuNs() - began;
        }
        Method method = method(assignor.getClass(), "performAssignment", null);
        Object[] given = arguments(method, round, joined(round), coordinator);
        long began = cpuNs();
        method.invoke(assignor, given);
        return cpuNs() - began;
    }

    private static Object assignor(Map<String, Object> assignors, Scenario scenario, Round round) throws Exception {
        String name = round.protocol.equals("default") ? "EagerAssignor" : "IncrementalCooperativeAssignor";
        Object known = assignors.get(name + round.process);
        if (known == null) {
            Object log = Class.forName("org.apache.kafka.common.utils.LogContext").getConstructor().newInstance();
            Constructor<?> make = Class.forName(DISTRIBUTED + name).getDeclaredConstructors()[0];
            make.setAccessible(true);
            known = make.getParameterCount() == 1
                ? make.newInstance(log)
                : make.newInstance(log, clock, scenario.maxDelayMs);
            assignors.put(name + round.process, known);
        }
        return known;
    }

    private static void assign(Object assignor, Round round) throws Exception {
        Method method = method(assignor.getClass(), "performAssignment", null);
        method.invoke(assignor, arguments(method, round, joined(round), coordinator(round)));
    }

    /** Releases before 4 take the protocol's name, later ones its constant. */
    private static Object[] arguments(Method method, Round round, List<Object> joined, Object coordinator)
            throws Exception {
        Object protocol = round.protocol;
        Class<?> wanted = method.getParameterTypes()[1];
        if (wanted != String.class) {
            protocol = wanted.getMethod("fromProtocol", String.class).invoke(null, round.protocol);
        }
        return new Object[] {round.leader, protocol, joined, coordinator};
    }

    private static List<Object> joined(Round round) throws Exception {
        Class<?> type = Class.forName(JOINED);
        List<Object> joined = new ArrayList<>();
        for (Member member : round.members) {
            Object one = type.getConstructor().newInstance();
            type.getMethod("setMemberId", String.class).invoke(one, member.id);
            type.getMethod("setMetadata", byte[].class).invoke(one, member.subscription);
            joined.add(one);
        }
        return joined;
    }

    /** A member that has just been told that it leads; made without its constructor, which would want a network. */
    private static Object coordinator(Round round) throws Exception {
        Object coordinator = unsafe.allocateInstance(Class.forName(DISTRIBUTED + "WorkerCoordinator"));
        Constructor<?> generation = Class.forName(COORDINATOR + "$Generation")
            .getDeclaredConstructor(int.class, String.class, String.class);
        generation.setAccessible(true);
        set(coordinator, "generation", generation.newInstance(round.generation, round.leader, round.protocol));
        set(coordinator, "lastCompletedGenerationId", round.lastCompleted);
        set(coordinator, "configSnapshot", config(round.config));
        Object fresh = config(round.freshConfig == null ? round.config : round.freshConfig);
        Class<?> store = Class.forName(CONNECT + "storage.ConfigBackingStore");
        set(coordinator, "configStorage", Proxy.newProxyInstance(Runner.class.getClassLoader(), new Class<?>[] {store},
            (proxy, called, given) -> called.getName().equals("snapshot") ? fresh : null));
        return coordinator;
    }

    private static Object config(Config known) throws Exception {
        Class<?> type;
        try {
            type = Class.forName(CONNECT + "storage.ClusterConfigState");
        } catch (ClassNotFoundException before33) {
            type = Class.forName(DISTRIBUTED + "ClusterConfigState");
        }
        Object config = unsafe.allocateInstance(type);
        for (Field field : type.getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers())) {
                continue;
            } else if (field.getType() == Map.class) {
                set(config, field.getName(), new HashMap<>());
            } else if (field.getType() == Set.class) {
                set(config, field.getName(), new HashSet<>());
            }
        }
        Map<String, Map<String, String>> configs = new HashMap<>();
        known.connectors.keySet().forEach(name -> configs.put(name, Map.of()));
        set(config, "offset", known.offset);
        set(config, "connectorTaskCounts", new HashMap<>(known.connectors));
        set(config, "connectorConfigs", configs);
        return config;
    }

    /** What the assignor makes of the subscriptions before it thinks about them. */
    private static Map<String, Object> heldJobs(Round round) throws Exception {
        Method decode = method(
            Class.forName(DISTRIBUTED + "IncrementalCooperativeConnectProtocol"), "deserializeMetadata", null);
        Class<?> builder = Class.forName(DISTRIBUTED + "WorkerCoordinator$ConnectorsAndTasks$Builder");
        Constructor<?> make = builder.getDeclaredConstructor();
        make.setAccessible(true);
        Map<String, Object> states = new HashMap<>();
        for (Member member : round.members) {
            states.put(member.id, decode.invoke(null, ByteBuffer.wrap(member.subscription)));
        }
        Map<String, Object> held = new HashMap<>();
        for (Map.Entry<String, Object> one : states.entrySet()) {
            Object assignment = method(one.getValue().getClass(), "assignment", null).invoke(one.getValue());
            Object jobs = method(builder, "with", null).invoke(
                make.newInstance(),
                method(assignment.getClass().getSuperclass(), "connectors", null).invoke(assignment),
                method(assignment.getClass().getSuperclass(), "tasks", null).invoke(assignment));
            held.put(one.getKey(), method(builder, "build", null).invoke(jobs));
        }
        return held;
    }

    private static Method method(Class<?> type, String name, Class<?> firstParameter) throws NoSuchMethodException {
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(name) && !method.isBridge()
                    && (firstParameter == null || method.getParameterTypes()[0] == firstParameter)) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new NoSuchMethodException(type.getName() + "." + name);
    }

    /** Fields that a release lacks are passed over: its assignor cannot ask for them. */
    private static void set(Object object, String name, Object value) throws Exception {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    field.set(object, value);
                    return;
                }
            }
        }
    }

    private static Scenario readScenario(DataInputStream in) throws IOException {
        int maxDelayMs = in.readInt();
        int timed = in.readInt();
        int repeats = in.readInt();
        List<Round> rounds = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            rounds.add(readRound(in));
        }
        return new Scenario(maxDelayMs, timed, timed == TIME_NOTHING ? 0 : repeats, rounds);
    }

    private static Round readRound(DataInputStream in) throws IOException {
        long now = in.readLong();
        int generation = in.readInt();
        int lastCompleted = in.readInt();
        String protocol = readString(in);
        String leader = readString(in);
        String process = readString(in);
        Config config = readConfig(in);
        Config fresh = in.readBoolean() ? readConfig(in) : null;
        List<Member> members = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            members.add(new Member(readString(in), readBytes(in)));
        }
        return new Round(now, generation, lastCompleted, protocol, leader, process, config, fresh, members);
    }

    private static Config readConfig(DataInputStream in) throws IOException {
        long offset = in.readLong();
        Map<String, Integer> connectors = new LinkedHashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            connectors.put(readString(in), in.readInt());
        }
        return new Config(offset, connectors);
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
