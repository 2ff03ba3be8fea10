"""Where commands about groups get their answers: a running monitor, or a capture. Both answer in the API's objects.

`at_ms` is the moment that is asked about. A monitor that is asked about now answers with the states it keeps; for an
earlier moment they are made of the generations and incidents until then, as they are for a capture.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from rebalance_monitor.streaming.core.coordinator_log.causes import with_all_reasons
from rebalance_monitor.streaming.core.coordinator_log.line import CoordinatorLog, CoordinatorReason
from rebalance_monitor.streaming.core.costs import CostQuestion, answer_of_objects, doubled_of, entry_of
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import JobState, Part, Result, Standing
from rebalance_monitor.streaming.core.replay import Replayed, replay
from rebalance_monitor.streaming.plug_ins.folding import fold_with
from rebalance_monitor.streaming.plug_ins.host import PlugInHost
from rebalance_monitor.streaming.stories.at_once import (
    GroupMoment,
    GroupStanding,
    at_once_object,
    found_at_once,
    ranges,
    standing,
)
from rebalance_monitor.streaming.stories.known import RECENT, GroupFacts
from rebalance_monitor.streaming.stories.whatif.advice import AskedHistory
from rebalance_monitor.streaming.stories.whatif.usual_advice import looked_at, usual_object
from rebalance_monitor.streaming.stories.why import ranking, ranking_object
from rebalance_monitor.streaming.web import fleet
from rebalance_monitor.streaming.web.attention import Attention, incident_object, storms
from rebalance_monitor.streaming.web.rows import NOBODY, GroupName, IncidentRow
from .captures import knowledge_of, records_of, settings_of, until_of
from .exit_codes import InputError
from .group_then import known_at
from .guarded import Guarded
from .moments import clock_ms
from .monitor_api import MonitorApi, NotThere, Where

A_PAGE = 25
"""Generations of one answer: those of large groups are large."""
MOST_GENERATIONS = 5_000
Object = dict[str, Any]


OF_ALL = ("monitor", "database")
"""Why nothing is known of any cluster, beside their names."""


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Whether the monitor has read its clusters to their ends; `why` has a sentence for each that it has not."""

    ready: bool
    why: dict[str, str] = field(default_factory=dict)

    def of(self, cluster: str) -> str:
        """Why nothing certain can be said of this cluster; "" where it can."""
        if cluster in self.why:
            return self.why[cluster]
        if self.ready:
            return ""
        own = [text for name, text in self.why.items() if name in (cluster, *OF_ALL)]
        return "; ".join(own) or ("" if self.why else "it does not say what it waits for")


class GroupSource(Protocol):
    """What commands ask."""

    @property
    def at_ms(self) -> int:
        """The moment that is answered for."""

    def readiness(self) -> CaughtUp: ...
    def names(self) -> list[GroupName]: ...

    def overview(self) -> list[GroupFacts]:
        """Every group, the worst first, with its open incidents and without its generations."""

    def known(self, key: GroupName, recent: int = RECENT) -> GroupFacts:
        """One group with so many of its last generations. InputError where nothing is known of it."""

    def generations(self, key: GroupName, since_ms: int | None = None) -> Iterator[Object]:
        """The newest first."""

    def incidents(self, key: GroupName | None, since_ms: int | None) -> list[Object]:
        """Those that were open at some time since then, or are; objects of the API, the newest first."""

    def jobs(self, key: GroupName) -> list[Object]:
        """Connectors and tasks of a Connect group as they stand."""

    def why(self, key: GroupName, since_ms: int) -> Object:
        """Why the group rebalanced since then: the API's `why`."""

    def advice(self, key: GroupName, since_ms: int) -> Object:
        """What settings that need no value would have saved since then: the API's `advice`."""

    def at_once(self, since_ms: int) -> Object:
        """Rebalances of many groups at once since then: the API's `at_once`."""

    def costs(self, question: CostQuestion) -> Object:
        """What rebalances cost, as the API answers."""


class MonitorGroups:
    """The groups of a running monitor, now or at a moment that is past."""

    def __init__(self, api: MonitorApi, at_ms: int | None = None) -> None:
        self._api, self._at_ms = api, at_ms
        self._recent: dict[GroupName, list[Object]] = {}

    @property
    def at_ms(self) -> int:
        return clock_ms() if self._at_ms is None else self._at_ms

    def readiness(self) -> CaughtUp:
        told = self._api.get("health")
        why = {str(name): str(text) for name, text in told["clusters"].items()}
        if told["database"] != "ok":
            why["database"] = str(told["database"])
        return CaughtUp(bool(told["ready"]), why)

    def names(self) -> list[GroupName]:
        return [(one["cluster"], one["group"]) for one in self._api.listed("groups")]

    def overview(self) -> list[GroupFacts]:
        if self._at_ms is not None:
            return _ordered(self.known(key) for key in self.names())
        now_ms, incidents = self.at_ms, list(self._api.listed("incidents"))
        by_group: dict[GroupName, list[Object]] = {}
        for one in incidents:
            by_group.setdefault((one["violation"]["cluster"], one["violation"]["group"]), []).append(one)
        return _ordered(
            GroupFacts(one, now_ms, incidents=by_group.get((one["cluster"], one["group"]), ()))
            for one in self._api.listed("groups")
        )

    def known(self, key: GroupName, recent: int = RECENT) -> GroupFacts:
        if self._at_ms is not None:
            violations = [one["violation"] for one in self.incidents(key, self._at_ms)]
            return known_at(key, list(islice(self.generations(key), recent)), violations, self._at_ms)
        told = self._api.get("group", {"cluster": key[0], "group": key[1]})
        latest = told["generation"]
        several = [] if latest is None else [latest, *self._before(key, latest)] if recent > 1 else [latest]
        return GroupFacts(told["group"], self.at_ms, several, told["incidents"], told["progress"])

    def _before(self, key: GroupName, latest: Object) -> list[Object]:
        """The generations before this one; asked for again only when it is another one than last time."""
        kept = self._recent.get(key, [])
        if not kept or kept[0]["source"] != latest["source"]:
            kept = self._recent[key] = list(islice(self.generations(key), RECENT))
        return [one for one in kept if one["source"] != latest["source"]]

    def generations(self, key: GroupName, since_ms: int | None = None) -> Iterator[Object]:
        return islice(self._api.listed("generations", self._where(key, since_ms), A_PAGE), MOST_GENERATIONS)

    def incidents(self, key: GroupName | None, since_ms: int | None) -> list[Object]:
        where: Where = {"state": "all", "since_ms": since_ms, "until_ms": self._at_ms}
        if key is not None:
            where |= {"cluster": key[0], "group": key[1]}
        return list(self._api.listed("incidents", where))

    def jobs(self, key: GroupName) -> list[Object]:
        return list(self._api.listed("connectors_and_tasks", {"cluster": key[0], "group": key[1]}))

    def why(self, key: GroupName, since_ms: int) -> Object:
        return self._api.get("why", self._where(key, since_ms))

    def advice(self, key: GroupName, since_ms: int) -> Object:
        return self._api.get("advice", self._where(key, since_ms))

    def _where(self, key: GroupName, since_ms: int | None) -> Where:
        return {"cluster": key[0], "group": key[1], "since_ms": since_ms, "until_ms": self._at_ms}

    def at_once(self, since_ms: int) -> Object:
        return self._api.get("at_once", {"since_ms": since_ms, "until_ms": self._at_ms})

    def costs(self, question: CostQuestion) -> Object:
        return self._api.get("costs", {**asdict(question), "by": ",".join(question.by)})


class CapturedGroups:
    """The groups of a capture, judged when it was read; at its end, or at a moment before."""

    def __init__(self, replayed: Replayed, at_ms: int, said: Sequence[CoordinatorReason] = ()) -> None:
        self._at_ms = at_ms
        results: Sequence[Result] = replayed.results
        self._generations: dict[GroupName, list[Object]] = {}
        self._violations: dict[GroupName, list[Object]] = {}
        for one in reversed(replayed.objects):
            key = one.get("cluster", ""), one.get("group", "")
            if one["kind"] == "generation":
                self._generations.setdefault(key, []).append(one)
            elif one["kind"] == "violation":
                self._violations.setdefault(key, []).append(one)
        for key, generations in self._generations.items():
            self._generations[key] = with_all_reasons(generations, [one for one in said if one.group == key[1]])
        self._standing_of = {(one.cluster, one.group): one for one in results if isinstance(one, Standing)}
        last = {(one.cluster, one.group, one.job): one for one in results if isinstance(one, JobState)}
        self._parts = {
            (one.incident_id, one.opened_at_ms, one.subjects): one for one in results if isinstance(one, Part)
        }
        self._jobs = [one for one in last.values() if not one.gone]

    @property
    def at_ms(self) -> int:
        return self._at_ms

    def readiness(self) -> CaughtUp:
        return CaughtUp(True)

    def names(self) -> list[GroupName]:
        return sorted({*self._generations, *self._violations})

    def overview(self) -> list[GroupFacts]:
        return _ordered(self.known(key) for key in self.names())

    def known(self, key: GroupName, recent: int = RECENT) -> GroupFacts:
        if key not in self._generations and key not in self._violations:
            raise NotThere(f"no such group is in the capture: {key[1]}")
        several = list(islice(self.generations(key), recent))
        jobs = len(self.jobs(key))
        return known_at(key, several, self._violations.get(key, ()), self.at_ms, self._standing_of.get(key), jobs)

    def generations(self, key: GroupName, since_ms: int | None = None) -> Iterator[Object]:
        return (one for one in self._generations.get(key, ()) if since_ms is None or one["at_ms"] >= since_ms)

    def incidents(self, key: GroupName | None, since_ms: int | None) -> list[Object]:
        keys = self._violations if key is None else [key]
        found = [one for own in keys for one in self._violations.get(own, ())]
        rows = [
            IncidentRow(one, one["cluster"], one["group"], historic=False, judged_by="", version="")
            for one in sorted(found, key=lambda one: one["opened_at_ms"], reverse=True)
            if since_ms is None or one["resolved_at_ms"] is None or one["resolved_at_ms"] >= since_ms
        ]
        attention = Attention((), self.at_ms, storms(rows))
        return [incident_object(attention.of(one)) for one in rows]

    def jobs(self, key: GroupName) -> list[Object]:
        return [as_object(one) for one in self._jobs if (one.cluster, one.group) == key]

    def why(self, key: GroupName, since_ms: int) -> Object:
        found = ranking(self._generations.get(key, ()), since_ms, violations=self._violations.get(key, ()))
        return ranking_object(*key, since_ms, found)

    def advice(self, key: GroupName, since_ms: int) -> Object:
        found, whole = looked_at(self.generations(key, since_ms))
        return usual_object(
            AskedHistory(*key, found, whole=whole, until_ms=self.at_ms, there=self._there(key)), since_ms
        )

    def at_once(self, since_ms: int) -> Object:
        moments = (
            GroupMoment(*key, one["at_ms"])
            for key, own in self._generations.items()
            for one in own
            if one["at_ms"] >= since_ms
        )
        events = []
        for cluster, from_ms, until_ms in ranges(moments):
            own = [several for key, several in self._generations.items() if key[0] == cluster]
            documents = [one for several in own for one in _between(several, from_ms, until_ms)]
            events += found_at_once(documents, from_ms, until_ms, self._standing(from_ms, until_ms))
        return at_once_object(since_ms, events)

    def costs(self, question: CostQuestion) -> Object:
        generations = (
            (entry_of(one, *key), one)
            for key in self.names()
            for one in self.generations(key)
            if question.asks_for(*key, one["at_ms"])
        )
        incidents = {
            one["incident_id"]: one
            for key, own in self._violations.items()
            for one in own
            if question.asks_for(*key, one["opened_at_ms"])
        }
        found = (
            doubled_of(incidents[one.incident_id], one) for one in self._parts.values() if one.incident_id in incidents
        )
        return answer_of_objects(generations, filter(None, found), question, lambda *_: "")

    def _there(self, key: GroupName) -> bool:
        """Whether anybody is in the group at the end, or that is not known."""
        last = self._standing_of.get(key)
        return last is None or last.state not in NOBODY

    def _standing(self, from_ms: int, until_ms: int) -> list[GroupStanding]:
        """The groups that had members then. Of one that is empty at the end, and not seen since, that is not known."""
        found = []
        for key, own in self._generations.items():
            there = self._there(key) or own[0]["at_ms"] >= from_ms
            last = next((one for one in own if one["at_ms"] <= until_ms), None)
            if there and last is not None:
                found.append(standing(last))
        return found


def _between(own: Sequence[Object], from_ms: int, until_ms: int) -> Iterator[Object]:
    """The generations of this time, of all of a group with the newest first, and the one before."""
    for one in own:
        if one["at_ms"] <= until_ms:
            yield one
        if one["at_ms"] < from_ms:
            return


def capture_of(path: str, at_ms: int | None = None, logs: Sequence[str] = ()) -> CapturedGroups:
    """The capture, judged until this moment, and what brokers' logs say of it. InputError where it holds no group's
    record, and where a log cannot be read."""
    said = [reason for log in logs for reason in _reasons_of(log)]
    if not path:
        raise InputError("--capture is empty; name a folder or a file")
    told = judged(Path(path), at_ms)
    return CapturedGroups(told, told.end_ms, said)


def judged(place: Path, at_ms: int | None = None) -> Replayed:
    """A capture through the fold, until this moment or the one at which a bundle ends. InputError where it holds no
    group's record."""
    plug_ins = PlugInHost(counted=True)
    guarded = Guarded(fold_with(plug_ins))
    until_ms = until_of(place) if at_ms is None else at_ms
    try:
        told = replay(
            records_of(place), settings_of(place), knowledge=knowledge_of(place), until_ms=until_ms,
            fold=guarded, read=guarded.read,
        )  # fmt: skip
    finally:
        plug_ins.close()
    guarded.tell()
    if not told.groups:
        until = "" if until_ms is None else " until that moment"
        raise InputError(f"{place}: it holds no record of a group{until}; see what it holds with `replay`")
    told.end_ms = told.end_ms if until_ms is None else until_ms
    return told


def _reasons_of(log: str) -> list[CoordinatorReason]:
    lines = CoordinatorLog()
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            found = [reason for line in file if (reason := lines.read(line)) is not None]
    except OSError as why:
        raise InputError(f"--coordinator-log {log} cannot be read ({why.strerror})") from why
    if not found:
        raise InputError(
            f"--coordinator-log {log}: no line says why a group rebalanced; name a broker's server.log, not compressed"
        )
    return found


def _ordered(groups: Iterable[GroupFacts]) -> list[GroupFacts]:
    return sorted(groups, key=lambda one: _place(one.group))


def _place(group: Any) -> tuple[Any, ...]:
    return fleet.order(group["state"], group["status"], group["at_ms"], (group["cluster"], group["group"]))
