"""Laws of the high-availability assignor: copies, state, balance and probing (S-07 to S-17 and S-28).

Which end offsets the leader saw is in no record. Where a law rests on them, it is violated only if it is under every
end offset that the reported sums allow (streams.md 8.2).
"""

from collections import Counter

from rebalance_monitor.assignors.java_order import sorted_names
from rebalance_monitor.assignors.streams.application import RUNNING
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId
from rebalance_monitor.streaming.core.model.results import Certainty, Severity
from .bugs import IGNORED_REJOINS
from .catalogue_placement import (
    BEHIND_ACTIVE,
    BEHIND_STANDBY,
    DEADLINE_CARRIER,
    FEW_COPIES,
    IMBALANCE_FACTOR,
    MANY_WARM_UPS,
    NO_PROBING,
    UNEVEN_ACTIVES,
    UNEVEN_SUBTOPOLOGY,
    UNEVEN_THREADS,
    UNEVEN_TOTAL,
    UNSTICKY_THREAD,
)
from .caught_up import Possible, lag_of, least_lag, possible
from .facts import OK, Facts, StreamsLaw, Violations, found, listed
from .topology import key_of

IMBALANCE = 0.2


def _stateful_running(facts: Facts) -> list[TaskId]:
    return [task for task in facts.runs if facts.with_state(task)]


def _few_copies(facts: Facts) -> Violations:
    wanted = facts.wanted_copies
    if wanted is None or not facts.high_availability or facts.failed:
        return None
    few = [task for task in _stateful_running(facts) if len(facts.copies[task]) < wanted]
    return found(FEW_COPIES, facts, f"{listed(few)} with fewer than {wanted} copies") if few else OK


def _extras(facts: Facts, wanted: int) -> int:
    return sum(max(0, len(holders) - wanted) for holders in facts.copies.values())


def _many_warm_ups(facts: Facts) -> Violations:
    wanted, most = facts.wanted_copies, facts.settings.warm_ups
    if wanted is None or most is None or not facts.high_availability or facts.failed:
        return None
    extras = _extras(facts, wanted)
    text = f"{extras} copies beyond num.standby.replicas, max.warmup.replicas is {most}"
    return found(MANY_WARM_UPS, facts, text) if extras > most else OK


def _reported(facts: Facts) -> list[TaskId]:
    """Those of them of which nobody reports what may be of a changelog that is gone."""
    return [task for task in _stateful_running(facts) if str(task) not in facts.left]


def _options(facts: Facts, task: TaskId, acceptable: int) -> list[Possible]:
    below = key_of(task) in facts.record.from_sources
    return possible(facts.sums.get(task, {}), facts.processes, acceptable, 0, below=below)


def _lag(facts: Facts, task: TaskId, process: ProcessId, end: int) -> int:
    return lag_of(facts.sums.get(task, {}), process, end)


def _behind_active(facts: Facts) -> Violations:
    acceptable = facts.settings.acceptable_lag
    if acceptable is None or not facts.high_availability or facts.failed:
        return None
    always = all(era.most_caught_up for era in facts.eras)
    behind, without = set(), set()
    for task in _reported(facts):
        process = facts.runs[task]
        options = _options(facts, task, acceptable)
        if all(_is_behind(facts, task, process, one, always=always) for one in options):
            behind.add(task)
            sums = facts.sums.get(task, {})
            if process not in sums and RUNNING in sums.values():
                without.add(task)
    if without:
        text = f"{listed(without)} given to a process without any state of it, while another one runs it"
        return found(BEHIND_ACTIVE, facts, text, severity=Severity.CRITICAL)
    text = f"{listed(behind)} given to a process that lags more than another one, by every possible end offset"
    return found(BEHIND_ACTIVE, facts, text) if behind else OK


def _is_behind(facts: Facts, task: TaskId, process: ProcessId, possible: Possible, *, always: bool) -> bool:
    if process in possible.caught_up or not (possible.caught_up or always):
        return False
    own = _lag(facts, task, process, possible.end)
    least = least_lag(facts.sums.get(task, {}), facts.processes.keys(), frozenset(), possible.end)
    return bool(possible.caught_up) or (least is not None and least < own)


def _behind_standby(facts: Facts) -> Violations:
    acceptable, wanted = facts.settings.acceptable_lag, facts.wanted_copies
    if acceptable is None or wanted is None or not facts.high_availability or facts.failed:
        return None
    if not all(era.most_caught_up for era in facts.eras) or not facts.placed_freely:
        return None
    behind = {
        task
        for task in _reported(facts)
        if all(_badly_copied(facts, task, wanted, one) for one in _options(facts, task, acceptable))
    }
    text = f"copies of {listed(behind)} on processes that lag more than others, by every possible end offset"
    return found(BEHIND_STANDBY, facts, text) if behind else OK


def _badly_copied(facts: Facts, task: TaskId, wanted: int, possible: Possible) -> bool:
    holders = facts.copies[task]
    sums = facts.sums.get(task, {})
    least = least_lag(sums, facts.processes.keys(), {*holders, facts.runs[task]}, possible.end)
    if least is None:
        return False
    bad = sum(
        holder not in possible.caught_up and least < _lag(facts, task, holder, possible.end) for holder in holders
    )
    return bad > max(0, len(holders) - wanted)


def _per_thread(facts: Facts, counts: dict[ProcessId, int]) -> float:
    loads = [counts[process] / len(threads) for process, threads in facts.processes.items()]
    return max(loads) - min(loads)


def _balance_applies(facts: Facts) -> bool:
    return facts.stable and facts.high_availability and not facts.failed


def _uneven_actives(facts: Facts) -> Violations:
    if not _balance_applies(facts):
        return None
    every = {process: len(tasks) for process, tasks in facts.active.items()}
    stateful = {process: sum(map(facts.with_state, tasks)) for process, tasks in facts.active.items()}
    for counts, what in ((every, "active tasks"), (stateful, "active tasks with state")):
        if (what == "active tasks" or facts.state_known) and _per_thread(facts, counts) > 1:
            least, most = min(counts.values()), max(counts.values())
            return found(UNEVEN_ACTIVES, facts, f"processes have {least} to {most} {what}")
    return OK


def _uneven_total(facts: Facts) -> Violations:
    if not _balance_applies(facts) or not facts.equal_capacities or not facts.placed_freely:
        return None
    counts = {
        process: sum(map(facts.with_state, tasks)) + len(facts.standby[process])
        for process, tasks in facts.active.items()
    }
    if not facts.state_known:
        return None
    if _per_thread(facts, counts) <= 1:
        return OK
    text = f"processes have {min(counts.values())} to {max(counts.values())} tasks with state, copies counted"
    return found(UNEVEN_TOTAL, facts, text)


def _uneven_subtopology(facts: Facts) -> Violations:
    if not _balance_applies(facts) or not facts.equal_capacities or not facts.placed_freely:
        return None
    uneven = []
    for part in facts.record.seen:
        shares = Counter(process for task, process in facts.runs.items() if key_of(task) == part.key)
        counts = [shares[process] for process in facts.processes]
        if max(counts) - min(counts) > 1:
            uneven.append(str(part.number))
    text = f"the tasks of sub-topology {', '.join(uneven)} are not evenly shared by the processes"
    return found(UNEVEN_SUBTOPOLOGY, facts, text) if uneven else OK


def _uneven_threads(facts: Facts) -> Violations:
    if facts.failed or facts.withheld or not facts.built_in or not facts.eras:
        return None
    if not all(era.threads_share_load for era in facts.eras) or not facts.state_known:
        return None
    for threads in facts.processes.values():
        stateful = [sum(map(facts.with_state, thread.active)) for thread in threads]
        copies = [count + len(thread.standby) for count, thread in zip(stateful, threads, strict=True)]
        every = [len(thread.active) + len(thread.standby) for thread in threads]
        for counts, what in ((stateful, "active tasks with state"), (copies, "tasks with state"), (every, "tasks")):
            if max(counts) - min(counts) > 1:
                text = f"threads of the process of {threads[0].id} have {min(counts)} to {max(counts)} {what}"
                return found(UNEVEN_THREADS, facts, text)
    return OK


def _unsticky_thread(facts: Facts) -> Violations:
    """A thread keeps what it reported, up to the floor of tasks per thread."""
    if facts.failed or facts.withheld or not facts.built_in or not facts.eras:
        return None
    if not all(era.threads_share_load for era in facts.eras):
        return None
    for process, threads in facts.processes.items():
        stateful = {task for task in facts.active[process] if facts.with_state(task)}
        floor = len(stateful) // len(threads)
        for thread in threads:
            own = stateful & thread.offset_sums.keys()
            if len(own) <= floor and own - thread.active:
                text = f"{listed(own - thread.active)} taken from {thread.id}, which had room for what it had"
                return found(UNSTICKY_THREAD, facts, text)
    return OK


def _no_probing(facts: Facts) -> Violations:
    wanted = facts.wanted_copies
    if wanted is None or not facts.high_availability or facts.failed:
        return None
    extras = _extras(facts, wanted)
    ignored = "; the leader may be of release 2.6.0, whose probing rebalances may not come even if they are set"
    bug = f"{ignored} ({IGNORED_REJOINS.issue})" if facts.may_have(IGNORED_REJOINS) else ""
    text = f"{extras} copies warm up, and no probing rebalance is set{bug}"
    return found(NO_PROBING, facts, text) if extras and not facts.times else OK


def _deadline_carrier(facts: Facts) -> Violations:
    if not facts.high_availability or facts.failed:
        return None
    if facts.deadline is not None:
        certainty = Certainty.CERTAIN if facts.deadline.sure else Certainty.LIKELY
        severity = Severity.INFO if facts.deadline.guessed and not facts.deadline.sure else None
        return found(DEADLINE_CARRIER, facts, facts.deadline.text, certainty=certainty, severity=severity)
    carriers = [thread for thread in facts.record.threads if (thread.next_rebalance_ms or 0) > 0]
    if not carriers:
        return OK
    if len(carriers) > 1:
        return found(DEADLINE_CARRIER, facts, f"{len(carriers)} threads have a deadline for the probing rebalance")
    carrier = carriers[0]
    leader = next((thread for thread in facts.record.threads if thread.id == facts.record.leader), None)
    if leader is None:
        return None
    first = sorted_names(thread.id for thread in facts.processes[leader.process_id])[0]
    text = f"{carrier.id} has the deadline of the probing rebalance, expected {first}"
    return found(DEADLINE_CARRIER, facts, text) if carrier.id != first else OK


def _imbalance_factor(facts: Facts) -> Violations:
    if facts.failed or not facts.stable:
        return None
    total = len(facts.runs)
    threads = sum(map(len, facts.processes.values()))
    for process, its in facts.processes.items():
        expected = total * len(its) / threads
        load = len(facts.active[process])
        if abs(load - expected) > max(IMBALANCE * expected, 1):
            text = f"the process of {its[0].id} runs {load} tasks, its share of threads means {expected:.1f}"
            return found(IMBALANCE_FACTOR, facts, text)
    return OK


PLACEMENT_LAWS = (
    StreamsLaw(FEW_COPIES, _few_copies),
    StreamsLaw(MANY_WARM_UPS, _many_warm_ups),
    StreamsLaw(BEHIND_ACTIVE, _behind_active),
    StreamsLaw(BEHIND_STANDBY, _behind_standby),
    StreamsLaw(UNEVEN_ACTIVES, _uneven_actives),
    StreamsLaw(UNEVEN_TOTAL, _uneven_total),
    StreamsLaw(UNEVEN_SUBTOPOLOGY, _uneven_subtopology),
    StreamsLaw(UNEVEN_THREADS, _uneven_threads),
    StreamsLaw(UNSTICKY_THREAD, _unsticky_thread),
    StreamsLaw(NO_PROBING, _no_probing),
    StreamsLaw(DEADLINE_CARRIER, _deadline_carrier),
    StreamsLaw(IMBALANCE_FACTOR, _imbalance_factor),
)
