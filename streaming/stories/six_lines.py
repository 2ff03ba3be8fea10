"""The six lines that answer for one group: what, since when, who is harmed, who caused it, when it ends by itself,
what to do. What is not known is said so.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.connect.advice.words import whole_text
from rebalance_monitor.streaming.core.model.messages import counted, listed, utc
from .cause_words import UNKNOWN, cause_text, kind_text
from .durations import duration
from .holdings import held, jobs_text
from .known import GroupFacts, Published, names_of, next_probing_ms, transfers
from .rebalances import seen
from .rolling_restarts import restart_runs
from .short_names import short_tail

MOST_NAMES = 6
MOST_CAUSES = 3
STORM_MS = 15 * 60_000
"""Causes of so long before a storm's beginning are counted with it."""
STUCK = "stuck_rebalance"
NOT_BROUGHT = ("worker_joined", "member_joined", "revocation_follow_up", "delay_expired", "backoff_follow_up")
"""Causes that name members which made no trouble by them: they joined, or a rebalance before called them again."""
HARMED = ("connector", "task", "partition", "topic")
_RULES = {rule.code: rule for rule in RULES}
_NOT_KNOWN = "not known"
_WAIT_IS_OVER_BY_ITSELF = (
    "nothing, if they may stand still until then: they are assigned when the delay ends, even if the worker is back"
    " before; a smaller scheduled.rebalance.max.delay.ms shortens the next wait"
)
_NOBODY_LEFT = "the last worker is no longer in the group; no record says why"
_FIRST_WORKER = (
    "when a worker joins; all_workers_gone is reported once there was none for the scheduled delay, or for the session"
    " time-out where that is longer"
)
_START_A_WORKER = "start a worker of the group: the first one gets everything; see why the last one ended"


@dataclass(frozen=True, slots=True)
class SixLines:
    """The answer; `since_ms` and `ends_ms` are the moments in it, None where there is none."""

    what: str
    since: str
    harmed: str
    caused: str
    ends: str
    do: str
    since_ms: int | None = None
    ends_ms: int | None = None

    def lines(self) -> list[tuple[str, str]]:
        """Each line with what it is called."""
        return [
            ("what", self.what),
            ("since", self.since),
            ("harmed", self.harmed),
            ("caused by", self.caused),
            ("ends", self.ends),
            ("do", self.do),
        ]


def six_lines(known: GroupFacts) -> SixLines:
    """The answer for a group, by its loudest incident; without one, by what it waits for."""
    incidents = known.open_incidents
    if incidents:
        return _of_incident(known, incidents[0], len(incidents) - 1)
    return _of_wait(known) if known.group["state"] == "waiting" else _of_rest(known)


def _of_incident(known: GroupFacts, incident: Published, more: int) -> SixLines:
    found = incident["violation"]
    ends, ends_ms = _ends(known, found)
    return SixLines(
        what=f"{known.group['state']}: {_whole(found['message'])} ({_judged(incident, more)})",
        since=f"{_since(known, found['opened_at_ms'])}, {_in_generation(known.group, found['opened_generation'])}",
        harmed=_harmed(known, found),
        caused=_caused(known, found),
        ends=ends,
        do=_do(found),
        since_ms=found["opened_at_ms"],
        ends_ms=ends_ms,
    )


def _in_generation(group: Published, opened: int) -> str:
    """The record that says that nobody is left has a number, too, which no table of generations shows."""
    last = group["generation"]
    if last is not None and opened > last and not group["members"]:
        return f"after generation {last}, the last one with members"
    return f"in generation {opened}"


def _of_wait(known: GroupFacts) -> SixLines:
    group, latest = known.group, known.latest
    wait = latest.get("wait") if latest is not None else None
    until_ms = group["delay_until_ms"]
    if until_ms is None:
        since_ms = group.get("status_ms")
        return SixLines(
            what="waiting: no worker is in the group, so nothing runs",
            since=_last(known) if since_ms is None else _since(known, since_ms),
            harmed=f"the whole group: {jobs_text(group['unassigned'])}",
            caused=_NOBODY_LEFT,
            ends=_FIRST_WORKER,
            do=_START_A_WORKER,
            since_ms=since_ms,
        )
    subjects = [] if wait is None else [one["id"] for one in wait["subjects"]]
    because = "" if wait is None else listed(wait["because"], MOST_NAMES)
    back = "" if wait is None or not wait["only_delay"] else "; it is back, and nothing but the delay keeps them idle"
    return SixLines(
        what=f"waiting: {jobs_text(len(subjects) or group['unassigned'])} stand still for the scheduled delay",
        since=_last(known) if wait is None else _since(known, wait["since_ms"]),
        harmed=listed(subjects, MOST_NAMES) or jobs_text(group["unassigned"]),
        caused=(f"{because} went away{back}" if because else _cause_of(latest)),
        ends=f"{_until(known, until_ms)}, when the delay is over",
        do=_WAIT_IS_OVER_BY_ITSELF,
        since_ms=None if wait is None else wait["since_ms"],
        ends_ms=until_ms,
    )


def _of_rest(known: GroupFacts) -> SixLines:
    group = known.group
    at = "" if group["generation"] is None else f", generation {group['generation']}"
    status = group["status"] or "its state is not known"
    next_ms = next_probing_ms(_streams(known.latest))
    ends = "nothing is to end"
    if next_ms is not None and next_ms > known.now_ms:
        ends = f"the next probing rebalance is due {_until(known, next_ms)}"
    return SixLines(
        what=f"fine: nothing is wrong that can be seen ({status}{at}, {counted(group['members'], 'member')})",
        since=_last(known),
        harmed=f"nobody{_lag(known)}",
        caused=_cause_of(known.latest),
        ends=ends,
        do="nothing",
        since_ms=group["at_ms"],
    )


def _judged(incident: Published, more: int) -> str:
    """Which rule, how sure, whether people are notified, and what else is open."""
    found = incident["violation"]
    parts = [f"{found['rule']} {found['code']}", found["certainty"]]
    if incident["attention"] in ("muted", "suppressed") and incident["why"]:
        parts.append(f"{incident['attention']}: {incident['why']}")
    if more:
        parts.append(f"{counted(more, 'more incident')}")
    return ", ".join(parts)


def _harmed(known: GroupFacts, found: Published) -> str:
    """Connectors, tasks and partitions of the incident; else what its members wait for; else all that they hold, but
    not where the incident is information only."""
    named = [one for one in found["subjects"] if one["type"] in HARMED]
    if named:
        kinds = Counter(one["type"] for one in named)
        counts = " and ".join(counted(count, kind) for kind, count in kinds.items())
        hidden = f" and {found['more_subjects']} more" if found["more_subjects"] else ""
        return f"{counts}{hidden}: {listed([one['id'] for one in named], MOST_NAMES)}{_lag(known)}"
    waits = [] if known.latest is None else transfers(known.latest)
    if waits:
        told = [f"{name}, which {receiver} is to get from {holder}" for name, holder, receiver in waits]
        return f"{listed(told, MOST_CAUSES)}{_lag(known)}"
    if found["severity"] == "info":
        return f"nobody that the records show{_lag(known)}"
    return f"{_everybody(known)}{_lag(known)}"


def _everybody(known: GroupFacts) -> str:
    group, latest = known.group, known.latest
    if latest is None or not group["members"]:
        return "the whole group"
    moves = (_streams(latest).get("progress") or {}).get("moves_left")
    if moves:
        return f"{counted(moves, 'task')} with state: where they are to run, no copy has caught up yet"
    holding = sum(len(held(dict(member))) for member in latest["members"])
    what = "partitions or tasks" if latest["protocol_type"] != "connect" else "connectors and tasks"
    return f"the whole group: {counted(group['members'], 'member')} with {holding} {what}"


def _caused(known: GroupFacts, found: Published) -> str:
    """What the rule names; else the members it is about; else what made the group rebalance."""
    if found["rule"] == STUCK:
        return _absent(known)
    named = found["cause"] or [one for one in found["subjects"] if one["type"] in ("worker", "member")]
    if named:
        return f"{listed([_name(one, known.latest) for one in named], MOST_NAMES)}{_last_of(known, found, named)}"
    behind = list(_behind(known.latest))
    if behind:
        return f"copies that have not caught up yet: {listed(behind, MOST_NAMES)}"
    rule = _RULES.get(found["code"])
    if rule is not None and rule.absorbs:
        return _tally(known, found["opened_at_ms"] - STORM_MS)
    return _cause_of(known.generation_of(found))


def _absent(known: GroupFacts) -> str:
    """Whom the coordinator waits for in a rebalance that does not end."""
    members = [] if known.latest is None else sorted(names_of(known.latest).values())
    which = f"one of {listed(members, MOST_NAMES)}" if members else "a member"
    return f"{which} has not joined again; no record says which"


def _last_of(known: GroupFacts, found: Published, named: Sequence[Published]) -> str:
    """The last generation before the incident whose cause names one of these."""
    ids = {one["id"] for one in named}
    for one in known.generations:
        if one["at_ms"] <= found["opened_at_ms"]:
            causes = [cause for cause in one["cause"] if cause["kind"] not in NOT_BROUGHT]
            own = [cause for cause in causes if ids & {subject["id"] for subject in cause["subjects"]}]
            if own:
                told = "; ".join(_causes(own, names_of(one)))
                return f"; {utc(one['at_ms'])}, generation {one['generation']}: {told}"
    return ""


def _name(subject: Published, generation: Published | None) -> str:
    """A member as people call it."""
    if subject["type"] != "member" or generation is None:
        return f"{subject['type']} {subject['id']}"
    return f"member {names_of(generation).get(subject['id']) or short_tail(subject['id'])}"


def _behind(generation: Published | None) -> Iterator[str]:
    """Copies that warm up, each with where."""
    for process in _streams(generation).get("processes", ()):
        for thread in process["threads"]:
            for task in thread["warm_up"]:
                yield f"{task} on {process['end_point'] or process['host'].lstrip('/')}"


def _tally(known: GroupFacts, from_ms: int) -> str:
    """What made the group rebalance from then on, the most frequent first; who came and went most often."""
    several = [one for one in known.generations if one["at_ms"] >= from_ms]
    kinds = Counter(cause["kind"] for one in several for cause in one["cause"])
    none = kinds.pop(UNKNOWN, 0)
    parts = [f"{kind_text(kind)} ({counted(count, 'time')})" for kind, count in kinds.most_common(MOST_CAUSES)]
    if none:
        parts.insert(0, f"no cause is visible for {none} of the last {counted(len(several), 'generation')}")
    last = next((one for one in several if _known_causes(one)), None)
    restarts = [one for one in restart_runs(seen(known.generations)) if one.from_ms >= from_ms] if none else []
    if restarts:
        told = f"before it a rolling restart, as of a deployment: {restarts[-1]} until {utc(restarts[-1].until_ms)}"
        parts.insert(1, told)
    elif none and last is not None:
        parts.append(
            f"the last visible one in generation {last['generation']} at {utc(last['at_ms'])}: {_known_causes(last)}"
        )
    return "; ".join(parts) or _NOT_KNOWN


def _cause_of(generation: Published | None) -> str:
    return (_known_causes(generation) if generation is not None else "") or _NOT_KNOWN


def _known_causes(generation: Published) -> str:
    """Causes of a generation in a line; "" where none is known."""
    called = names_of(generation)
    return "; ".join(_causes(generation["cause"], called))


def _causes(causes: Iterable[Published], called: dict[str, str]) -> Iterator[str]:
    for cause in causes:
        if cause["kind"] != UNKNOWN:
            yield cause_text(cause, lambda name: called.get(name) or short_tail(name), MOST_NAMES)


def _do(found: Published) -> str:
    """The first step, the second of the rule if the first one is the rule's, and where the others stand."""
    rule = _RULES.get(found["code"])
    first = _whole(found["next_step"])
    declared = [] if rule is None else [whole_text(step) for step in rule.advice[:2]]
    then = declared[1:] if declared and _whole(declared[0]) == first else []
    return " ".join((first, *map(_whole, then), f"More: rebalance-monitor rules {found['rule']}")).strip()


def _ends(known: GroupFacts, found: Published) -> tuple[str, int | None]:
    """When the incident ends without anybody's help: the rule's word, and the next moment that something is due. The
    moment is that of its end only where the rule says so: most incidents outlast a delay or a probing rebalance."""
    rule = _RULES.get(found["code"])
    text = rule.resolves[0].lower() + rule.resolves[1:] if rule is not None and rule.resolves else _NOT_KNOWN
    moments: Sequence[tuple[int | None, str]] = (
        (known.group["delay_until_ms"], "the scheduled delay is over"),
        (next_probing_ms(_streams(known.latest)), "the next probing rebalance is due"),
    )
    for at_ms, what in moments:
        if at_ms is not None and at_ms > known.now_ms:
            ends = rule is not None and rule.ends_with_delay and at_ms == known.group["delay_until_ms"]
            return f"{text.rstrip('.')}; {what} {_until(known, at_ms)}", at_ms if ends else None
    return text.rstrip("."), None


def _streams(generation: Published | None) -> Published:
    return (generation or {}).get("streams") or {}


def _lag(known: GroupFacts) -> str:
    """Records that the members have yet to read, where brokers were asked for that."""
    if known.progress is None:
        return ""
    lag = sum(member["lag"] for member in known.progress["members"])
    return f"; {lag:,} records behind at {utc(known.progress['answered_ms'])}" if lag else ""


def _last(known: GroupFacts) -> str:
    at_ms = known.group["at_ms"]
    return "no generation is known" if at_ms is None else f"the last rebalance, {_since(known, at_ms)}"


def _since(known: GroupFacts, at_ms: int) -> str:
    ago = f" ({duration(known.now_ms - at_ms)} ago)" if known.spans and known.now_ms >= at_ms else ""
    return f"{utc(at_ms)}{ago}"


def _until(known: GroupFacts, at_ms: int) -> str:
    left = f" (in {duration(at_ms - known.now_ms)})" if known.spans and at_ms > known.now_ms else ""
    return f"at {utc(at_ms)}{left}"


def _whole(text: str) -> str:
    return " ".join(text.split())
