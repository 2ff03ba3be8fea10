"""Cases of STREAMS-S22 about offset sums above where the changelogs end."""

from dataclasses import replace

from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata, history_of
from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_streams_record import KNOWN, TEXT, THE_GROUP
from tests.streaming.core.rules.streams import Thread, group

H = Severity.HIGH
CHANGELOG = f"{GROUP}-store1-changelog"
APART_MS = SKEW_MS + 1_000


def sampled(total: int, *ids: bytes, others: tuple[str, ...] = (), ended: int = 1_000) -> Story:
    """b has a directory of 1_0, which a runs, and reports so much of it. The changelog is sampled around that record,
    and had these ids: one sample after the other, the last behind the record."""
    a, b = Thread(id="a1", active="1_0", generation=1), Thread(id="b1", active="1_1", generation=1)
    again = replace(a, owned="1_0", sums="1_0:-2"), replace(b, owned="1_1", sums=f"1_0:{total} 1_1:-2")
    story = group((a, b), again, known=KNOWN)
    last_ms = story.rows[-1].timestamp_ms
    names = (CHANGELOG, *others)
    story.knowledge = Knowledge(
        topics=history_of(
            TopicMetadata(
                last_ms + APART_MS * (1 + 2 * (at + 1 - len(ids))),
                dict.fromkeys(names, (frozenset[str](),) * 2),
                dict.fromkeys(names, one),
                dict.fromkeys(names, (ended, ended)),
            )
            for at, one in enumerate(ids)
        )
    )
    return story


OLD, NEW = b"o" * 16, b"n" * 16


def above_the_end() -> Story:
    return sampled(1 << 50, OLD, OLD)


def one_above_the_end() -> Story:
    return sampled(1_001, OLD, OLD)


def at_the_end() -> Story:
    return sampled(1_000, OLD, OLD)


def sampled_before_alone() -> Story:
    story = sampled(1 << 50, OLD, OLD)
    topics = story.knowledge.topics
    ends = {name: samples[:1] for name, samples in topics.ends.items()}
    story.knowledge = replace(story.knowledge, topics=replace(topics, ends=ends))
    return story


def made_anew_before() -> Story:
    return sampled(1 << 50, OLD, NEW, NEW)


def made_anew_around() -> Story:
    return sampled(1 << 50, OLD, NEW)


def of_a_source_topic() -> Story:
    """By the text the store is a table's, which is read from `t1`: `t1` is sampled, and has no changelog beside it."""
    story = sampled(1 << 50, OLD, OLD)
    topics = story.knowledge.topics
    parts = {"t1": topics.topics[CHANGELOG]}, {"t1": topics.ids[CHANGELOG]}, {"t1": topics.ends[CHANGELOG]}
    story.knowledge = Knowledge(topics=replace(topics, topics=parts[0], ids=parts[1], ends=parts[2]))
    return story


def of_a_store_that_is_gone() -> Story:
    """A directory still has the store of an older topology, and the sum counts it."""
    return sampled(1_500, OLD, OLD, others=(f"{GROUP}-former-changelog",))


def with_a_source_as_changelog_beside() -> Story:
    """Two stores: the one has a changelog, of the other `t1` is the changelog."""
    stores = "(stores: [store1, table])"
    text = TEXT.replace("(stores: [store1])", stores)
    story = sampled(1_500, OLD, OLD)
    story.settings = replace(story.settings, streams={GROUP: replace(KNOWN, topology=text)})
    return story


def left_on_disk() -> Story:
    """The application comes back as a whole: its directories may be of changelogs that are gone."""
    story = sampled(1 << 50, OLD, OLD)
    threads = Thread(id="a1", active="1_0", sums="1_1:500"), Thread(id="b1", active="1_1", sums="1_0:1500")
    again = group((Thread(id="a1", active="1_0"), Thread(id="b1", active="1_1")), threads, known=KNOWN)
    again.knowledge = story.knowledge
    return again


SAMPLED_AROUND = "a sum up to the end offset, or one of which no sample before and after the record tells"
ANEW = "a changelog that was made anew"
A_SOURCE = "a source topic that serves as changelog"
LEFT = "a directory that may be left of another topology, or of a store that is gone"

CASES: tuple[Case, ...] = (
    Broken(
        code="STREAMS-S22",
        story=above_the_end,
        subjects=THE_GROUP,
        severity=H,
        says="b1 reports 1125899906842624 as the offset sum of 1_0, whose changelogs ended at 1000 at most",
    ),
    Broken(code="STREAMS-S22", story=one_above_the_end, subjects=THE_GROUP, severity=H, says="1001"),
    NearMiss(code="STREAMS-S22", exception=SAMPLED_AROUND, story=at_the_end),
    NearMiss(code="STREAMS-S22", exception=SAMPLED_AROUND, story=sampled_before_alone),
    NearMiss(code="STREAMS-S22", exception=ANEW, story=made_anew_before),
    NearMiss(code="STREAMS-S22", exception=ANEW, story=made_anew_around),
    NearMiss(code="STREAMS-S22", exception=A_SOURCE, story=of_a_source_topic),
    NearMiss(code="STREAMS-S22", exception=A_SOURCE, story=with_a_source_as_changelog_beside),
    NearMiss(code="STREAMS-S22", exception=LEFT, story=of_a_store_that_is_gone),
    NearMiss(code="STREAMS-S22", exception=LEFT, story=left_on_disk),
)
