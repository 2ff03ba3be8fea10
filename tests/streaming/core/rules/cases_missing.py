"""Cases of static members that stay away: GROUP-G4, in groups of each kind that has them."""

from rebalance_monitor.streaming.core.fold.missing_members import PATIENCE_MS
from rebalance_monitor.streaming.core.incidents.rule import MINUTE_MS
from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules import streams
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.consumers import Consumer, record
from tests.streaming.core.rules.epochs import SESSION_MS, Epochs, given

MISSING = "GROUP-G4"
ROUNDROBIN = "roundrobin"
AWAY = -2
GONE_MS = 2 * MINUTE_MS
"""After the record before: long enough for every time-out."""


def static(number: int, share: str) -> Consumer:
    """A static member on a host of its own."""
    return Consumer(id=f"i{number}-1", instance=f"i{number}", given=share, host=f"/h{number}", client_id="c")


THREE = (static(1, "a-0"), static(2, "a-1"), static(3, "a-2"))
TWO = (static(1, "a-0 a-2"), static(2, "a-1"))


def told(*records: tuple[Consumer, ...], after_ms: int = GONE_MS) -> Story:
    """One record after the other."""
    story = Story()
    for members in records:
        record(story, ROUNDROBIN, *members, after_ms=after_ms)
    return story


def a_host_is_lost() -> Story:
    return told(THREE, TWO).until(PATIENCE_MS)


def a_host_is_lost_among_members_without_instance_ids() -> Story:
    others = (Consumer(id="m1", given="a-3"),)
    return told(THREE + others, (*TWO, Consumer(id="m1", given="a-3"))).until(PATIENCE_MS)


def a_thread_is_lost() -> Story:
    """Of a Streams application."""
    both = (
        streams.Thread(id="a1", active="0_0", sums="0_0:-2", instance="app-1", host="/h1"),
        streams.Thread(id="b1", active="0_1", sums="0_1:-2", instance="app-2", host="/h2"),
    )
    story = streams.group(both)
    left = streams.Thread(id="a1", active="0_0 0_1", sums="0_0:-2", instance="app-1", host="/h1")
    return streams.record(story, left, after_ms=GONE_MS).until(PATIENCE_MS)


def static_pair() -> Epochs:
    """A KIP-848 group of two static members, each with two partitions, that began together."""
    story = Epochs(4)
    for name in "ab":
        story.member(name, instance=f"i{name}")
    story.epoch(1)
    story.target(1, a="0 1", b="2 3")
    story.holds("a", 1, "0 1")
    story.holds("b", 1, "2 3")
    return story.after(GONE_MS)


def without_b(story: Epochs) -> Epochs:
    """The member is removed; the other one gets what it had."""
    story.gone("b", epoch=2)
    story.target(2, a="0 1 2 3")
    story.holds("a", 2, "0 1 2 3")
    return story


def a_member_dies() -> Story:
    return without_b(static_pair()).until(PATIENCE_MS)


def a_member_leaves_for_a_while() -> Story:
    """It is closed, and its place is kept for the session time-out."""
    story = static_pair()
    story.holds("b", AWAY, "2 3")
    return without_b(story.after(SESSION_MS)).until(SESSION_MS + PATIENCE_MS)


def a_place_is_kept_for_long() -> Story:
    """A broker with a long session time-out: nobody consumes what the member holds."""
    story = static_pair()
    story.holds("b", AWAY, "2 3")
    return story.until(SESSION_MS + PATIENCE_MS)


def bounced() -> Story:
    """Closed, and back with another member id within its session time-out."""
    story = static_pair()
    story.holds("b", AWAY, "2 3")
    story.after()
    for type_ in (8, 7, 5):
        story.write(type_, None, "b")
    story.member("c", instance="ib")
    story.write(7, {"topicPartitions": given("2 3")}, "c")
    story.holds("c", 0, "2 3")
    story.after().holds("c", 1, "2 3")
    return story.until(10 * PATIENCE_MS)


def asked_to_leave() -> Story:
    """A second after its last record."""
    story = static_pair()
    story.now_ms += 1_000 - GONE_MS
    return without_b(story).until(10 * PATIENCE_MS)


def restarted() -> Story:
    """Its session time-out had passed before it was back, which takes another generation."""
    return told(THREE, TWO, THREE).until(10 * PATIENCE_MS)


def not_yet() -> Story:
    return told(THREE, TWO).until(PATIENCE_MS - 1)


def left() -> Story:
    """Three seconds after the join phase before: no session time-out of 10 s can have passed."""
    return told(THREE, TWO, after_ms=3_000).until(10 * PATIENCE_MS)


def made_anew() -> Story:
    """Each start of a process makes an instance id of its own."""
    return told(THREE, TWO, (*TWO, static(4, ""))).until(10 * PATIENCE_MS)


def came_before() -> Story:
    four = (*THREE, static(4, "a-3"))
    return told(THREE, four, four[1:]).until(10 * PATIENCE_MS)


def goes_on_without_instance_id() -> Story:
    return told(THREE, TWO, (*TWO, Consumer(id="m1"))).until(10 * PATIENCE_MS)


def nobody_static() -> Story:
    plain = (Consumer(id="m1", given="a-0 a-1"),)
    return told(THREE, plain).until(10 * PATIENCE_MS)


INFO = Severity.INFO


def away(who: str, since: str, held: str) -> str:
    return f"{who} has been away since 2027-01-15 {since} UTC, when its session time-out had passed; it held {held}"


def ib(since: str) -> str:
    return away("ib (client consumer on 10.0.0.1)", since, "a-2, a-3")


CASES: tuple[Case, ...] = (
    Broken(
        code=MISSING,
        story=a_host_is_lost,
        severity=INFO,
        subjects=("member i3",),
        says=away("i3 (client c on h3)", "08:04:00", "a-2"),
    ),
    Broken(
        code=MISSING,
        story=a_host_is_lost_among_members_without_instance_ids,
        severity=INFO,
        subjects=("member i3",),
    ),
    Broken(
        code=MISSING,
        story=a_thread_is_lost,
        severity=INFO,
        subjects=("member app-2",),
        says=away("app-2 (client app-b1 on h2)", "08:02:05", "0_1 active"),
    ),
    Broken(code=MISSING, story=a_member_dies, severity=INFO, subjects=("member ib",), says=ib("08:02:00")),
    Broken(
        code=MISSING, story=a_member_leaves_for_a_while, severity=INFO, subjects=("member ib",), says=ib("08:03:30")
    ),
    Broken(code=MISSING, story=a_place_is_kept_for_long, severity=INFO, subjects=("member ib",), says=ib("08:02:45")),
    NearMiss(code=MISSING, exception="it comes back within the patience", story=bounced),
    NearMiss(code=MISSING, exception="it left by a request", story=asked_to_leave),
    NearMiss(code=MISSING, exception="it comes back within the patience", story=restarted),
    NearMiss(code=MISSING, exception="it comes back within the patience", story=not_yet),
    NearMiss(code=MISSING, exception="it left by a request", story=left),
    NearMiss(code=MISSING, exception="another member comes instead, before or after", story=made_anew),
    NearMiss(code=MISSING, exception="another member comes instead, before or after", story=came_before),
    NearMiss(
        code=MISSING, exception="another member comes instead, before or after", story=goes_on_without_instance_id
    ),
    NearMiss(code=MISSING, exception="no static member is left in the group", story=nobody_static),
)
