"""Predictions against what real consumer groups then did: every place of the captures where members left or joined."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.schemas.consumer_protocol import ConsumerSubscription
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.whatif.change import CannotPredict, Change, Concerned
from rebalance_monitor.streaming.stories.whatif.consumer import predict
from rebalance_monitor.streaming.stories.known import names_of

CAPTURES = Path(__file__).parents[3] / "vectors" / "captures-groups"
Document = dict[str, Any]


def lives(capture: Path) -> Iterator[list[Document]]:
    source = capture_of(str(capture))
    for key in source.names():
        by_life: dict[int, list[Document]] = {}
        for one in source.generations(key):
            if one["protocol_type"] == "consumer" and one["lifecycle"] == "classic" and "streams" not in one:
                by_life.setdefault(one["incarnation"], []).insert(0, one)
        yield from by_life.values()


def topics_of(capture: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """What members really subscribe to, by record."""
    found = {}
    for record in records_of(capture):
        row = decode(record, settings_of(capture))
        if row is not None and isinstance(row.body, GroupGeneration):
            found[row.topic, row.partition, row.offset] = {
                one.member_id: (frozenset(one.subscription.topics), one.subscription.rack)
                for one in row.body.members
                if isinstance(one.subscription, ConsumerSubscription)
            }
    return found


def ids(generation: Document) -> set[str]:
    return {one["member_id"] for one in generation["members"]}


def has(generation: Document) -> dict[str, set[str]]:
    return {
        one["member_id"]: {f"{topic}-{number}" for topic, number in one["assigned"]["partitions"]}
        for one in generation["members"] if one["assigned"] is not None
    }


def places(capture: Path) -> Iterator[tuple[str, str, int, int]]:
    subscriptions = topics_of(capture)
    for generations in lives(capture):
        for place in range(1, len(generations)):
            before, after = generations[place - 1], generations[place]
            gone, came = ids(before) - ids(after), ids(after) - ids(before)
            if (not gone and not came) or after["generation"] != before["generation"] + 1 or not ids(after) or not ids(before):
                continue
            if before["protocol"] != after["protocol"] :
                continue
            real = [set(subscriptions[tuple(one["source"].values())].values()) for one in (before, after)]
            fresh = [one for one in after["members"] if one["member_id"] in came]
            if real[0] != real[1] or len(real[1]) > 1 or any(rack for _, rack in real[1]):
                yield before["protocol"], "other subscriptions", 0, 0
                continue
            if any((one["owned"] or {}).get("partitions") or one["instance_id"] for one in fresh):
                yield before["protocol"], "no new process", 0, 0
                continue
            change = Change(leave=tuple(sorted(gone)), join=len(came))
            named = {one: f"new member {number + 1}" for number, one in enumerate(sorted(came))}

            def as_they_came(_: Change, __: Concerned, ___: Document, named=named) -> Iterator[Any]:
                yield named, {}
            kind=before["protocol"]
            try:
                told = predict(change, generations[place - 1 :: -1], as_they_came)
            except CannotPredict as why:
                yield kind, "cannot", 0, 0
                continue
            names = {**names_of(before), **named}
            best = 0
            for course in told.courses:
                now, right = {names[i]: s for i, s in has(before).items() if i in ids(after)}, 0
                for step, one in enumerate(course.to_come):
                    if place+step >= len(generations) or ids(generations[place + step]) != ids(after): break
                    real = {names[i]: s for i, s in has(generations[place + step]).items()}
                    now = {n: (now.get(n,set()) - set(one.gives_up.get(n, ()))) | set(one.gets.get(n, ())) for n in real}
                    if now != real:
                        right = 0
                        break
                    right += 1
                best = max(best, right)
            if not best: print(capture.name, kind, before["group"], after["generation"], after["verdict"]["grade"], after["verdict"]["reason"], change, )
            yield kind, "right" if best else "wrong", best, len(told.courses)


@pytest.mark.parametrize("capture", ["java-classic", "java-releases", "python-clients","foreign-clients", "kafka-go", "kafkajs","platformatic"])
def test_predictions_come_true(capture: str) -> None:
    counts: Counter[str] = Counter()
    for kind, what, right, several in places(CAPTURES / capture):
        counts[f"{kind} {what}"] += 1
        counts["rebalances"] += right
        counts["several courses"] += several > 1
    print(capture, dict(counts))
