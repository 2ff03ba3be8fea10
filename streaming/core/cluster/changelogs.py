"""Where the changelogs of Streams applications end, as brokers said when asked.

The end offset of a changelog tells how fast it is written. Offset sums in the group's records tell how fast a copy
restores it. Only both together tell whether the copy will ever catch up.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .end_offsets import EndSample, before_of
from .topics import TopicHistory

CHANGELOG_SUFFIX = "-changelog"
"""How Kafka Streams ends the names of changelogs."""
MOST_KEPT = 8
"""Samples of an application that are kept: its records are folded seconds after they were written."""


@dataclass(frozen=True, slots=True)
class ChangelogEnds:
    """One answer: the end offset of each partition (`topic-number`) at a moment between `asked_ms` and `answered_ms`,
    times of the monitor's clock."""

    asked_ms: int
    answered_ms: int
    ends: Mapping[str, int]


EndsOfGroups: TypeAlias = Mapping[str, tuple[ChangelogEnds, ...]]
"""The answers about each application, oldest first."""


def is_changelog(topic: str, application: str) -> bool:
    """Whether a topic is called as the changelogs of this application are: `application-store-changelog`. One of an
    application whose id begins with this id and a hyphen is called so, too."""
    return topic.startswith(f"{application}-") and topic.endswith(CHANGELOG_SUFFIX)


def with_ends(known: EndsOfGroups, told: Mapping[str, ChangelogEnds], watched: Collection[str]) -> EndsOfGroups:
    """After one more answer. Of applications that nobody asks for any more nothing is kept."""
    if not told and all(group in watched for group in known):
        return known
    kept = {group: samples for group, samples in known.items() if group in watched}
    for group, ends in told.items():
        kept[group] = (*kept.get(group, ()), ends)[-MOST_KEPT:]
    return kept


def ends_at(samples: Sequence[ChangelogEnds], at_ms: int) -> ChangelogEnds | None:
    """The last answer until then."""
    return next((one for one in reversed(samples) if one.answered_ms <= at_ms), None)


def sampled_ends(topics: TopicHistory, application: str, at_ms: int) -> ChangelogEnds | None:
    """The same by the samples of topics until then: every changelog of the application that was sampled."""
    found: dict[str, EndSample] = {}
    for name, samples in topics.ends.items():
        sample = before_of(samples, at_ms) if is_changelog(name, application) else None
        if sample is not None:
            found[name] = sample
    if not found:
        return None
    return ChangelogEnds(
        asked_ms=min(sample.asked_ms for sample in found.values()),
        answered_ms=max(sample.answered_ms for sample in found.values()),
        ends={f"{name}-{number}": end for name, sample in found.items() for number, end in enumerate(sample.ends)},
    )


def changelogs_of(
    watched: Collection[str], topics: Iterable[tuple[str, int]], present: Collection[str] = ()
) -> dict[str, list[tuple[str, int]]]:
    """The partitions of changelogs of groups that are watched. `topics`: with how many partitions each has; `present`:
    all groups of the cluster. A group without such topics is missing.

    Kafka Streams calls them `application-store-changelog`. With the groups `orders` and `orders-eu`, the topic
    `orders-eu-s-changelog` is taken for one of `orders-eu`: the longest id that fits counts.
    """
    groups = frozenset((*watched, *present))
    found: dict[str, list[tuple[str, int]]] = {}
    for topic, count in topics if watched else ():
        if topic.endswith(CHANGELOG_SUFFIX):  # most topics are none
            owner = _longest(topic.removesuffix(CHANGELOG_SUFFIX), groups)
            if owner is not None and owner in watched:
                found.setdefault(owner, []).extend((topic, number) for number in range(count))
    return found


def _longest(beginning: str, groups: Collection[str]) -> str | None:
    """The longest of these ids with which `application-store` begins."""
    end = beginning.rfind("-")
    while end > 0:
        if beginning[:end] in groups:
            return beginning[:end]
        end = beginning.rfind("-", 0, end)
    return None
