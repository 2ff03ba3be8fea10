"""Laws that one record of a Streams group alone decides: who may run what, and whether payloads agree (S-01 to S-06,
S-22 to S-27)."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise

from rebalance_monitor.assignors.streams.application import RUNNING
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.members import SHUTDOWN_REQUESTED, host_info_of
from rebalance_monitor.assignors.streams.tasks import TaskId, TopicPartition, sorted_tasks
from rebalance_monitor.streaming.core.model import messages
from rebalance_monitor.streaming.core.model.results import Severity
from .bugs import OLD_ENDPOINT, OWN_NEWEST_VERSION, TASKS_OF_A_MATE
from .catalogue import (
    ACTIVE_AND_STANDBY,
    ERROR_ASSIGNMENT,
    HAND_OVER_UNTOLD,
    HOST_MAPS,
    MISSING_TASK,
    OFFSET_SUMS,
    SHARED_PROCESS_ID,
    STANDBY_WITHOUT_STATE,
    TAKEN_EARLY,
    TASK_SHAPE,
    TOPOLOGY_MISFIT,
    TWO_ACTIVES,
    VERSIONS,
)
from .described import stores_by_part
from .error_answers import asking
from .facts import FIRST_WITH_NEXT, NAMED, OK, Facts, StreamsLaw, Violations, found, listed
from .members import StreamsThread, later_version
from .observed import POOL
from .topology import FIRST_WITH_SUMS, is_left, key_of

FIRST_WITH_HOSTS = 2


def _two_actives(facts: Facts) -> Violations:
    counts = Counter(task for thread in facts.record.threads for task in thread.active)
    places = Counter(part for thread in facts.record.threads for part in thread.given.partitions)
    twice = {task for task, count in counts.items() if count > 1}
    if twice:
        text = f"{listed(twice)} given to two threads at once"
        return found(TWO_ACTIVES, facts, text, looks_like=(TASKS_OF_A_MATE,) if _in_one_process(facts, twice) else ())
    shared = sorted(f"{topic}-{number}" for (topic, number), count in places.items() if count > 1)
    return found(TWO_ACTIVES, facts, f"partition {shared[0]} given to two threads at once") if shared else OK


def _in_one_process(facts: Facts, tasks: set[TaskId]) -> bool:
    return all(sum(task in held for held in facts.active.values()) == 1 for task in tasks)


def _missing(facts: Facts) -> Violations:
    """Of topics that the group still reads. A number below one that is given now exists; one above may have gone with a
    topic that was made anew, unless a sample shows it."""
    if facts.failed or not facts.built_in:
        return None
    shown = {part for thread in facts.record.threads for part in (*thread.given.partitions, *thread.wanted.owned)}
    highest: dict[str, int] = {}
    for topic, number in shown:
        highest[topic] = max(highest.get(topic, number), number)
    missing = {
        task
        for task, partitions in facts.remembered.items()
        if partitions
        and task not in facts.runs
        and not any(part in shown for part in partitions)
        and all(topic in highest and _exists((topic, number), highest, facts) for topic, number in partitions)
    }
    text = f"{listed(missing)} given to no thread, and no thread still owns the partitions"
    return found(MISSING_TASK, facts, text) if missing else OK


def _exists(part: TopicPartition, highest: dict[str, int], facts: Facts) -> bool:
    topic, number = part
    return number < facts.counts[topic] if topic in facts.counts else number < highest[topic]


def _taken_early(facts: Facts) -> Violations:
    """A report of an older generation counts for nothing: its member was out of the group meanwhile."""
    newest = max(thread.wanted.generation for thread in facts.record.threads)
    owner = {
        part: thread.id
        for thread in facts.record.threads
        if thread.wanted.generation == newest
        for part in thread.wanted.owned
    }
    for thread in facts.record.threads:
        early = [part for part in thread.given.partitions if owner.get(part, thread.id) != thread.id]
        if early:
            topic, number = early[0]
            text = f"{topic}-{number} given to {thread.id} while {owner[early[0]]} still owned it"
            return found(TAKEN_EARLY, facts, text)
    return OK


def _hand_over_untold(facts: Facts) -> Violations:
    if facts.failed or facts.version < FIRST_WITH_NEXT:
        return None
    if facts.withheld and 0 not in facts.times:
        text = f"{listed(facts.withheld)} withheld until owners give them up, and no thread is to join again at once"
        return found(HAND_OVER_UNTOLD, facts, text)
    at_once = facts.times.count(0)
    if at_once > len(facts.withheld):
        if not facts.built_in or facts.record.unread():
            return None
        withheld = f"{len(facts.withheld)} tasks are withheld" if facts.withheld else "no task is withheld"
        threads = "a thread is" if at_once == 1 else f"{at_once} threads are"
        return found(HAND_OVER_UNTOLD, facts, f"{threads} to join again at once, and {withheld}")
    return OK


def _active_and_standby(facts: Facts) -> Violations:
    both = {task for process, tasks in facts.active.items() for task in tasks & facts.standby[process]}
    return found(ACTIVE_AND_STANDBY, facts, f"one process runs {listed(both)} and keeps a copy too") if both else OK


def _standby_without_state(facts: Facts) -> Violations:
    if facts.settings.topology is None or any(era.standbys_of_all for era in facts.eras):
        return None
    stores = stores_by_part(facts.settings.topology)
    copied = {task for tasks in facts.standby.values() for task in tasks}
    needless = {task for task in copied if not stores.get(key_of(task), True)}
    text = f"copies of {listed(needless)}, whose sub-topology has no store"
    return found(STANDBY_WITHOUT_STATE, facts, text) if needless else OK


def _offset_sums(facts: Facts) -> Violations:
    newest = max(thread.wanted.generation for thread in facts.record.threads)
    runners: dict[TaskId, set[str]] = defaultdict(set)
    for thread in facts.record.threads:
        if thread.said.version < FIRST_WITH_SUMS:
            continue
        for task, total in thread.offset_sums.items():
            if total < 0 and total != RUNNING:
                return found(OFFSET_SUMS, facts, f"{thread.id} reports {total} as the offset sum of {task}")
            if total > _most(facts, thread, task):
                text = f"{thread.id} reports {total} as the offset sum of {task}, whose changelogs ended at "
                return found(OFFSET_SUMS, facts, f"{text}{facts.held[task]} at most", severity=Severity.HIGH)
            if total == RUNNING and thread.wanted.generation == newest:
                runners[task].add(thread.id)
    twice = {task: names for task, names in runners.items() if len(names) > 1}
    if twice:
        first, second = sorted(next(iter(twice.values())))[:2]
        return found(OFFSET_SUMS, facts, f"{first} and {second} both say that they run {listed(twice)}")
    return OK


def _most(facts: Facts, thread: StreamsThread, task: TaskId) -> float:
    """What the thread can report of the task at most, as far as that is known."""
    return math.inf if is_left(facts.left, task, thread.process_id) else facts.held.get(task, math.inf)


def _host_maps(facts: Facts) -> Violations:
    if facts.failed:
        return None
    ends: dict[tuple[str, int], set[str]] = defaultdict(set)
    for process, threads in facts.processes.items():
        try:
            host = host_info_of(threads[0].said.end_point)
        except LeaderFailed:
            return None
        if host is not None:
            ends[host].add(str(process))
    shared = sorted(host for host, ids in ends.items() if len(ids) > 1)
    if shared:
        text = f"two processes have {shared[0][0]}:{shared[0][1]} as application.server"
        return found(HOST_MAPS, facts, text, severity=Severity.HIGH)
    if facts.version < FIRST_WITH_HOSTS:
        return None
    shown = [(_map(thread, standby=False), _map(thread, standby=True)) for thread in facts.record.threads]
    if any(one != shown[0] for one in shown):
        return found(HOST_MAPS, facts, "threads were given different host maps")
    lacking = sorted(host for host in ends if host not in shown[0][0])
    if lacking:
        text = f"the host maps lack {lacking[0][0]}:{lacking[0][1]}"
        static = any(thread.row.instance_id is not None for thread in facts.record.threads)
        return found(HOST_MAPS, facts, text, looks_like=(OLD_ENDPOINT,) if static else ())
    if any(later_version(thread) is not None for thread in facts.record.threads):
        return OK  # its subscription may name a host, and is not read
    unknown = sorted(host for told in shown[0] for host in told if host not in ends)
    if unknown:
        text = f"the host maps name {unknown[0][0]}:{unknown[0][1]}, which is no member's application.server"
        return found(HOST_MAPS, facts, text)
    unserved = _unserved(facts, shown[0][0])
    return found(HOST_MAPS, facts, unserved) if unserved else OK


def _unserved(facts: Facts, hosts: Mapping[tuple[str, int], frozenset[object]]) -> str:
    """What a process runs, and its host is said not to serve."""
    for threads in facts.processes.values():
        host = host_info_of(threads[0].said.end_point)
        given = {part for thread in threads for part in thread.given.partitions}
        lacking = sorted(f"{topic}-{number}" for topic, number in given - hosts.get(host, given)) if host else []
        if host and lacking:
            return f"the host maps do not say that {host[0]}:{host[1]} serves {lacking[0]}"
    return ""


def _map(thread: StreamsThread, *, standby: bool) -> dict[tuple[str, int], frozenset[object]]:
    told = thread.told.standby_partitions_by_host() if standby else thread.told.partitions_by_host()
    return {host: frozenset(partitions) for host, partitions in told.items()}


def _shared_process_id(facts: Facts) -> Violations:
    """Hosts alone may differ by proxies; two state directories of one id show in tasks that both report."""
    for process, threads in facts.processes.items():
        first = threads[0]
        for other in threads[1:] if process != POOL else ():
            what = (
                "application.server" if other.said.end_point != first.said.end_point
                else "client tags" if other.said.client_tags != first.said.client_tags
                else "racks" if other.wanted.rack != first.wanted.rack
                else "hosts and tasks" if _both(first, other)
                else ""
            )  # fmt: skip
            if what:
                text = f"{first.id} and {other.id} have the process id {process} and different {what}"
                return found(SHARED_PROCESS_ID, facts, text)
    return OK


def _both(thread: StreamsThread, other: StreamsThread) -> bool:
    return thread.row.client_host != other.row.client_host and bool(
        thread.offset_sums.keys() & other.offset_sums.keys()
    )


def _versions(facts: Facts) -> Violations:
    leader = next((thread for thread in facts.record.threads if thread.id == facts.record.leader), None)
    if facts.failed or leader is None or leader.said.latest_supported < 0:
        return None
    newest = leader.said.latest_supported
    used = min([newest, *(thread.said.version for thread in facts.record.threads)])
    supported = min([newest, *(thread.said.latest_supported for thread in facts.record.threads)])
    for thread in facts.record.threads:
        version, common = thread.told.version, thread.told.commonly_supported
        if version != used:
            text = f"{thread.id} was given version {version}{_own(version, newest)}; members use {used} at least"
            return found(VERSIONS, facts, text, looks_like=(OWN_NEWEST_VERSION,) if version == newest else ())
        if common != supported:
            text = f"{thread.id} was told that all members support version {common}{_own(common, newest)}"
            text = f"{text}; one supports {supported} at most"
            return found(VERSIONS, facts, text, looks_like=(TASKS_OF_A_MATE,) if common == newest else ())
    return OK


def _own(version: int, newest: int) -> str:
    return ", the leader's own newest" if version == newest else ""


def _error_assignment(facts: Facts) -> Violations:
    codes = {thread.told.error for thread in facts.record.threads} - {0}
    if not codes:
        return OK
    if SHUTDOWN_REQUESTED not in codes:
        return found(ERROR_ASSIGNMENT, facts, f"the leader handed out error {max(codes)} and no tasks")
    names = [f"{one.id} ({one.row.client_host.lstrip('/')})" for one in asking(facts.record.threads)]
    who = f"{messages.listed(names, NAMED)} asked for it" if names else "no member asked for it"
    return found(ERROR_ASSIGNMENT, facts, f"the leader ordered the shutdown of the whole application: {who}")


def _topology(facts: Facts) -> Violations:
    if facts.misfit is None:
        return OK
    return found(TOPOLOGY_MISFIT, facts, f"the configured topology does not fit: {facts.misfit}")


def _task_shape(facts: Facts) -> Violations:
    for thread in facts.record.threads:
        if not thread.well_formed:
            parts, tasks = len(thread.given.partitions), len(thread.told.active)
            return found(TASK_SHAPE, facts, f"{thread.id} was given {parts} partitions and {tasks} tasks for them")
        odd = [(part, task) for part, task in thread.pairs if part[1] != task.partition]
        if odd:
            (topic, number), task = odd[0]
            return found(TASK_SHAPE, facts, f"{thread.id} was given {topic}-{number} as a partition of task {task}")
    return _other_topics(facts)


def _other_topics(facts: Facts) -> Violations:
    """A task reads every topic of its sub-topology that has so many partitions. So does each of its copies."""
    topics: dict[TaskId, frozenset[str]] = {}
    for thread in facts.record.threads:
        for (topic, _), task in thread.pairs:
            topics[task] = topics.get(task, frozenset()) | {topic}
    for thread in facts.record.threads:
        for task, partitions in thread.standby.items():
            read = frozenset(topic for topic, _ in partitions)
            if any(number != task.partition for _, number in partitions) or read != topics.setdefault(task, read):
                names = ", ".join(f"{topic}-{number}" for topic, number in sorted(partitions)) or "no partition"
                return found(TASK_SHAPE, facts, f"{thread.id} was given a copy of task {task} with {names}")
    for task, later in pairwise(sorted_tasks(topics)):
        more = topics[later] - topics[task] if key_of(task) == key_of(later) else ()
        if more:
            return found(TASK_SHAPE, facts, f"task {later} reads {min(more)}, task {task} of its sub-topology does not")
    return OK


RECORD_LAWS = (
    StreamsLaw(TWO_ACTIVES, _two_actives),
    StreamsLaw(MISSING_TASK, _missing),
    StreamsLaw(TAKEN_EARLY, _taken_early),
    StreamsLaw(HAND_OVER_UNTOLD, _hand_over_untold),
    StreamsLaw(ACTIVE_AND_STANDBY, _active_and_standby),
    StreamsLaw(STANDBY_WITHOUT_STATE, _standby_without_state),
    StreamsLaw(OFFSET_SUMS, _offset_sums),
    StreamsLaw(HOST_MAPS, _host_maps),
    StreamsLaw(SHARED_PROCESS_ID, _shared_process_id),
    StreamsLaw(VERSIONS, _versions),
    StreamsLaw(ERROR_ASSIGNMENT, _error_assignment),
    StreamsLaw(TASK_SHAPE, _task_shape),
    StreamsLaw(TOPOLOGY_MISFIT, _topology),
)
