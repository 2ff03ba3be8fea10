"""Cases of generations that go back: GROUP-G7, and the lower numbers that are right."""

from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.consumers import Consumer, record
from tests.streaming.core.test_lost_records import lose

BACK = "GROUP-G7"
ROUNDROBIN = "roundrobin"
ALONE = Consumer(id="c1", given="a-0 a-1 a-2")
HOUR_MS = 3_600_000


def at_generation(number: int) -> Story:
    story = Story()
    story.generation = number - 1
    return record(story, ROUNDROBIN, ALONE)


def went_on_at(story: Story, number: int, member: Consumer = ALONE, *, after_ms: int = 5_000) -> Story:
    story.generation = number - 1
    return record(story, ROUNDROBIN, member, after_ms=after_ms).until(1_000)


def an_older_log() -> Story:
    return went_on_at(at_generation(47), 17)


def made_again() -> Story:
    story = at_generation(47)
    story.tombstone()
    return went_on_at(story, 17)


def its_first_generation() -> Story:
    return went_on_at(at_generation(47), 1)


def records_lost() -> Story:
    story = at_generation(47)
    lose(story, 5)
    return went_on_at(story, 17)


def made_again_while_nobody_read() -> Story:
    """The log was cleaned before it was read: the tombstone and generations 1 to 16 are gone."""
    return went_on_at(at_generation(47), 17, Consumer(id="d9", given="a-0 a-1 a-2"), after_ms=HOUR_MS)


def an_older_log_after_two_days() -> Story:
    return went_on_at(at_generation(47), 17, after_ms=48 * HOUR_MS)


CASES: tuple[Case, ...] = (
    Broken(code=BACK, story=an_older_log, severity=Severity.MEDIUM, subjects=(f"group {GROUP}",),
           says="went back from generation 47 to 17"),
    NearMiss(code=BACK, exception="the group was deleted and made again", story=made_again),
    NearMiss(code=BACK, exception="it begins with its first generation", story=its_first_generation),
    NearMiss(code=BACK, exception="records were not read in between", story=records_lost),
    Broken(code=BACK, story=an_older_log_after_two_days, severity=Severity.MEDIUM, subjects=(f"group {GROUP}",)),
    NearMiss(code=BACK, exception="no member is in both records: the group may have been deleted, and its tombstone "
             "cleaned away", story=made_again_while_nobody_read),
)  # fmt: skip
