"""A rebalance in plain words: what happened, why, what the assignor did, what the laws say, what comes next.

It is the page's story of a generation, told at length: with the rules that it broke, and with what followed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.model.messages import counted, listed, utc
from .durations import duration
from .known import Published
from .rebalances import Explained, RecordOrder, record_order
from .steps import steps
from .story import GenerationRow, Story, story
from .why import by_patterns

_RULES = {rule.code: rule for rule in RULES}
FOLLOWERS = 5
"""So many generations after it are named."""
_KINDS = {
    "connect": "Kafka Connect", "consumer": "consumers", "share": "a share group", "streams": "Kafka Streams",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading and its sentences."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A generation with what is known around it. `after`: those that followed, the earliest first; `incidents`:
    objects of the API, those that opened with it; `patterns`: what `why` says of the group's rebalances."""

    generation: Published
    after: Sequence[Published] = ()
    incidents: Sequence[Published] = ()
    patterns: Mapping[RecordOrder, Explained] = field(default_factory=dict)

    def causes(self, generation: Published, told: Story) -> tuple[str, ...]:
        """Of it, or of one that followed. Where no record shows a cause, a pattern among the records may."""
        pattern = self.patterns.get(record_order(generation))
        if pattern is None or any(cause["kind"] != "unknown" for cause in generation["cause"]):
            return told.causes
        return (f"{pattern.text} ({pattern.certainty.value})",)


def disruptive(generation: Published, incidents: Iterable[Published] = ()) -> bool:
    """Whether somebody lost something, something stood still, or a rule says that harm came with it. A record that
    repeats a generation is no rebalance."""
    return not generation.get("repeats") and bool(
        any(change["lost"] for change in generation["diff"].values())
        or generation.get("unassigned")
        or generation.get("wait")
        or generation.get("downtime")
        or (generation.get("streams") or {}).get("withheld")
        or any(one["violation"]["severity"] != "info" for one in opened_with(generation, incidents))
    )


def opened_with(generation: Published, incidents: Iterable[Published]) -> list[Published]:
    """Those of the incidents that opened with this generation."""
    return [
        one
        for one in incidents
        if one["violation"]["opened_generation"] == generation["generation"]
        and one["violation"]["opened_at_ms"] >= generation["at_ms"]
    ]


def rebalance_of(newest_first: Sequence[Published], place: int, incidents: Sequence[Published]) -> Rebalance:
    """The generation at this place, with what followed it."""
    generation = newest_first[place]
    after = [
        one
        for one in reversed(newest_first[:place])
        if one["incarnation"] == generation["incarnation"] and not one.get("repeats")
    ]
    until_ms = after[0]["at_ms"] if after else None
    own = [
        one
        for one in opened_with(generation, incidents)
        if until_ms is None or one["violation"]["opened_at_ms"] < until_ms
    ]
    return Rebalance(generation, after[:FOLLOWERS], own, by_patterns(newest_first))


def explanation(rebalance: Rebalance, now_ms: int) -> list[Chapter]:
    generation = rebalance.generation
    told = story(GenerationRow(dict(generation), generation["cluster"], generation["group"], ""))
    return [
        Chapter("What happened", tuple(_happened(generation, told))),
        Chapter("Why", rebalance.causes(generation, told) or ("Not known: nothing that was read asks for it.",)),
        Chapter("What the assignor did", tuple(steps(generation))),
        Chapter("What the laws say", tuple(_laws(rebalance, told))),
        Chapter("What comes next", tuple(_next(rebalance, told, now_ms))),
    ]


def _happened(generation: Published, told: Story) -> Iterator[str]:
    kind = "a Kafka Streams application" if generation.get("streams") is not None else _KINDS.get(
        generation["lifecycle"] if generation["lifecycle"] != "classic" else generation["protocol_type"],
        generation["protocol_type"] or "a kind that is not known",
    )  # fmt: skip
    number = "target of assignment epoch" if generation.get("epoch") is not None else "generation"
    came = "wrote again, without a rebalance," if generation.get("repeats") else "came to"
    yield (
        f"{utc(told.at_ms)}: group {told.group} ({kind}, {generation['protocol'] or 'no protocol'}) {came} {number}"
        f" {told.generation} with {counted(told.members, 'member')}."
    )
    if told.sampled:
        yield f"The group is {told.sampled}."
    for hands in told.hands:
        parts = [f"gained {hands.gained}" if hands.gained else "", f"lost {hands.lost}" if hands.lost else ""]
        yield f"{hands.worker} {' and '.join(filter(None, parts))}."
    if told.more_hands:
        yield f"So did {told.more_hands} more."
    if not told.hands:
        yield "Nothing changed hands."
    if told.moved:
        yield f"In numbers: {told.moved}."
    yield from (f"{text[0].upper()}{text[1:]}." for text in (*told.downtime, told.burst, told.progress) if text)


def _laws(rebalance: Rebalance, told: Story) -> Iterator[str]:
    reason = f": {told.reason}" if told.reason else ""
    with_what = f" (recomputed with {told.assignor})" if told.assignor else ""
    yield f"Verdict {told.grade.replace('_', ' ')}, {told.meaning}{with_what}{reason}."
    yield from (f"Expected was another one: {line}." for line in told.expected)
    for one in rebalance.incidents:
        found, rule = one["violation"], _RULES.get(one["violation"]["code"])
        law = f" The law: {rule.meaning}" if rule is not None and rule.meaning else ""
        message = " ".join(found["message"].split())
        yield f"{found['code']} {found['rule']} ({found['severity']}, {found['certainty']}): {message}.{law}"
    laws = (rebalance.generation.get("streams") or {}).get("laws", {})
    open_ones = [code for code, grade in laws.items() if grade == "undetermined"]
    if open_ones:
        yield f"Not decided, since not enough is known: {listed(open_ones, 8)}."
    if not rebalance.incidents:
        yield "No rule opened an incident with it."


def _next(rebalance: Rebalance, told: Story, now_ms: int) -> Iterator[str]:
    generation, said = rebalance.generation, False
    for one in rebalance.after:
        follower = story(GenerationRow(dict(one), one["cluster"], one["group"], ""))
        causes = rebalance.causes(one, follower)
        later = duration(max(0, one["at_ms"] - generation["at_ms"]))
        yield f"{later} later came generation {one['generation']}: {'; '.join(causes) or 'cause not known'}."
        said = True
    for sentence in () if rebalance.after else _due(generation, told, now_ms):
        yield sentence
        said = True
    for incident in rebalance.incidents:
        found, rule = incident["violation"], _RULES.get(incident["violation"]["code"])
        if found["resolved_at_ms"] is not None:
            yield f"{found['rule']} was over at {utc(found['resolved_at_ms'])}."
        elif rule is not None:
            yield f"{found['rule']} is open. It ends: {rule.resolves} To do first: {incident['violation']['next_step']}"
        said = True
    if not said:
        yield "Nothing is due; the next rebalance comes with the next change of members, topics or configuration."


def _due(generation: Published, told: Story, now_ms: int) -> Iterator[str]:
    """What the last generation says of the one after it."""
    if told.wait_until_ms is not None:
        left = f", in {duration(told.wait_until_ms - now_ms)}," if told.wait_until_ms > now_ms else ""
        yield f"{told.wait}. At {utc(told.wait_until_ms)}{left} the delay ends, and a rebalance assigns them."
    elif any(move["kind"] == "revoked" for move in generation.get("moves", ())):
        yield "The workers that gave something up join again at once; the next rebalance hands it out."
    streams = generation.get("streams") or {}
    next_ms = (streams.get("progress") or {}).get("next_ms") or streams.get("next_rebalance_ms")
    if streams.get("withheld"):
        yield "The owners of withheld tasks give them up and join again; the next rebalance hands the tasks out."
    elif next_ms:
        count = (streams.get("progress") or {}).get("moves_left")
        moves = f"; {counted(count, 'move')} left" if count else ""
        yield f"The next probing rebalance is due at {utc(next_ms)}{moves}."
    if told.target:
        yield f"{told.target[0].upper()}{told.target[1:]}."
    pending_ms = generation["verdict"].get("pending_until_ms")
    if pending_ms is not None:
        yield f"The verdict is final at {utc(pending_ms)} at the latest."
