"""Records for the decoding benchmark, encoded by our writers: no two of them, and no two blobs, have the same bytes."""

from rebalance_monitor.schemas import connect_protocol, consumer_protocol
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.schemas.streams_assignment import AssignmentInfo, encode_assignment_info
from rebalance_monitor.schemas.streams_subscription import SubscriptionInfo, encode_subscription_info

T0_MS = 1_700_000_000_000


def _member(prefix: str, number: int, at: int, session_ms: int, subscription: bytes, assignment: bytes) -> GroupMember:
    client = f"{prefix}-{number}"
    return GroupMember(
        member_id=f"{client}-{at:08x}-4b5c-4d6e-8f70-{number:012x}",
        client_id=client,
        client_host=f"/10.0.{number // 250}.{number % 250}",
        rebalance_timeout_ms=300_000,
        session_timeout_ms=session_ms,
        subscription=subscription,
        assignment=assignment,
    )


def _record(protocol_type: str, protocol: str, at: int, members: list[GroupMember]) -> bytes:
    return encode_group_metadata(
        GroupMetadata(
            version=3,
            protocol_type=protocol_type,
            generation=at,
            protocol=protocol,
            leader=members[0].member_id,
            state_ms=T0_MS + at,
            members=tuple(members),
        )
    )


def consumers(at: int, count: int = 5, topics: int = 2, partitions: int = 15) -> bytes:
    """A group of plain consumers with the cooperative assignor: subscriptions V3 that report what they own."""
    members = []
    for number in range(count):
        held = tuple((f"orders-{topic}", p) for topic in range(topics) for p in range(number, partitions, count))
        names = tuple(f"orders-{topic}" for topic in range(topics))
        subscription = ConsumerSubscription(version=3, topics=names, owned=held, generation=at, rack=f"rack-{number}")
        # The user data makes every assignment different; a real one is mostly null.
        assignment = ConsumerAssignment(version=3, partitions=held, user_data=at.to_bytes(4, "big"))
        members.append(
            _member(
                "consumer-orders",
                number,
                at,
                45_000,
                consumer_protocol.encode_subscription(subscription),
                consumer_protocol.encode_assignment(assignment),
            )
        )
    return _record("consumer", "cooperative-sticky", at, members)


def connect(at: int, count: int = 20, connectors: int = 10, tasks: int = 200) -> bytes:
    """A cooperative Connect group: every worker reports what it holds, every fourth is given a task."""
    jobs = [(f"connector-{number % connectors:03d}", number // connectors) for number in range(tasks)]
    leader, url = f"connect-0-{at:08x}", "http://worker-0.example.org:8083/"
    members = []
    for number in range(count):
        held: dict[str, list[int]] = {}
        for name, task in sorted(jobs)[number::count]:
            held.setdefault(name, []).append(task)
        if number < connectors:
            held.setdefault(f"connector-{number:03d}", []).append(connect_protocol.THE_CONNECTOR)
        entries = tuple((name, tuple(numbers)) for name, numbers in held.items())
        given = ConnectAssignment(version=2, leader=leader, leader_url=url, config_offset=at, delay_ms=number)
        state = WorkerState(
            version=2, url=f"http://worker-{number}.example.org:8083/", config_offset=at, allocation=given
        )
        members.append(
            _member(
                "connect",
                number,
                at,
                10_000,
                connect_protocol.encode_worker_state(state, entries),
                connect_protocol.encode_assignment(given, entries[:1] if number % 4 == 0 else ()),
            )
        )
    return _record("connect", "sessioned", at, members)


def streams(at: int, count: int = 10, subtopologies: int = 2, partitions: int = 40) -> bytes:
    """A Streams application with interactive queries: payloads version 11, one standby of each task, host maps."""
    tasks = [(subtopology, partition) for subtopology in range(subtopologies) for partition in range(partitions)]
    hosts = tuple(
        (f"app-{one}.example.org", 8080, tuple(n for s, p in tasks[one::count] for n in (s, p))) for one in range(count)
    )
    members = []
    for number in range(count):
        active, standby = tasks[number::count], tasks[(number + 1) % count :: count]
        info = SubscriptionInfo(
            version=11,
            latest_supported=11,
            process_id=bytes((number + 1,)) * 8 + at.to_bytes(8, "big"),
            end_point=f"app-{number}.example.org:8080",
            offset_sums=(*((*task, -2) for task in active), *((*task, at + 1) for task in standby)),
            unique=at % 100,
            client_tags=(("zone", f"z{number}"),),
        )
        share = AssignmentInfo(
            version=11,
            commonly_supported=11,
            active=tuple(active),
            standby=tuple((task, ((f"orders-{task[0]}", task[1]),)) for task in standby),
            topics=tuple((topic, f"orders-{topic}") for topic in range(subtopologies)),
            hosts=hosts,
            standby_hosts=hosts,
            next_rebalance_ms=T0_MS + at * 100 + number,
        )
        subscription = ConsumerSubscription(
            version=3, topics=("orders-0", "orders-1"), user_data=encode_subscription_info(info), generation=at
        )
        assignment = ConsumerAssignment(
            version=3,
            partitions=tuple((f"orders-{s}", p) for s, p in active),
            user_data=encode_assignment_info(share),
        )
        members.append(
            _member(
                "app",
                number,
                at,
                45_000,
                consumer_protocol.encode_subscription(subscription),
                consumer_protocol.encode_assignment(assignment),
            )
        )
    return _record("consumer", "stream", at, members)
