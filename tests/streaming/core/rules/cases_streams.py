"""Cases of the laws about Streams groups: STREAMS-S01 to S32."""

from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.model.settings import PlugIn, StreamsSettings
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.streams import Thread, group, record

C, H, M, L, INFO = Severity
HOUR_MS = 3_600_000

# -- S30: bytes --------------------------------------------------------------------------------------------------------


def damaged_payload() -> Story:
    return group((Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1", damaged=True)))


def about_to_join() -> Story:
    story = Story()
    story.generation, story.now_ms = 1, story.now_ms + 5_000
    joins = GroupMember(
        member_id="b1",
        client_id="app-b1",
        client_host="/10.0.0.2",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        subscription=b"",
        assignment=b"",
    )
    value = GroupMetadata(
        version=3,
        protocol_type="consumer",
        generation=1,
        protocol="stream",
        leader="a1",
        state_ms=story.now_ms - 20,
        members=(Thread(id="a1", active="0_0").member(), joins),
    )
    story.offsets_row(encode_group_metadata(value))
    return story


# -- S31: static members -----------------------------------------------------------------------------------------------


def static(story: Story, number: int, host: str, after_ms: int = 60_000) -> None:
    record(story, Thread(id=f"a{number}", active="0_0", instance="i", host=host), after_ms=after_ms, again=number > 1)


def two_hosts_in_turn() -> Story:
    story = Story()
    for number, host in enumerate(("/10.0.0.1", "/10.0.0.2") * 2, start=1):
        static(story, number, host)
    return story.until(HOUR_MS)


def moved_and_back() -> Story:
    story = Story()
    for number, host in enumerate(("/10.0.0.1", "/10.0.0.2", "/10.0.0.1"), start=1):
        static(story, number, host)
    return story.until(HOUR_MS)


def turns_hours_apart() -> Story:
    story = Story()
    for number, host in enumerate(("/10.0.0.1", "/10.0.0.2") * 2, start=1):
        static(story, number, host, after_ms=HOUR_MS)
    return story.until(HOUR_MS)


# -- S32: the application's own assignor -------------------------------------------------------------------------------


def nothing_runs_it() -> Story:
    """The fold of the stories runs no plug-ins."""
    known = StreamsSettings(release="4.3.1", plug_in=PlugIn(name="own:Assignor"))
    return group((Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1")), known=known)


CASES: tuple[Case, ...] = (
    Broken(code="STREAMS-S30", story=damaged_payload, subjects=("member b1",), severity=H, says="Streams payload"),
    NearMiss(code="STREAMS-S30", exception="a member that is about to join has neither", story=about_to_join),
    Broken(code="STREAMS-S31", story=two_hosts_in_turn, subjects=("member i",), severity=H),
    NearMiss(code="STREAMS-S31", exception="a process that moves to another host, and back once", story=moved_and_back),
    Broken(code="STREAMS-S32", story=nothing_runs_it, subjects=("group g",), severity=M, says="own:Assignor"),
    NearMiss(code="STREAMS-S31", exception="changes hours apart", story=turns_hours_apart),
)
