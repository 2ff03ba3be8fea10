"""Whether a leader can have answered with these error codes, as far as the record alone tells.

Theory (streams.md 2.6, 3.1). Before anything else the leader looks whether a member asks for the shutdown of the whole
application: the member's subscription carries code 4. Then everybody is given code 4 and nothing else, whatever the
topics, end offsets and settings are. Without such a member no leader hands code 4 out. Codes 1 and 3 rest on what no
record holds (missing topics, a failure), but they, too, are given to everybody, with no tasks:

    a1 says 4    everybody is told 4, no tasks         right
    a1 says 4    a1 is told 4, b1 is given 0_1         wrong
    nobody does  everybody is told 4                   wrong
    nobody does  everybody is told 3, no tasks         cannot be told from the record
"""

from collections.abc import Collection, Sequence

from rebalance_monitor.assignors.streams.eras import era_of
from rebalance_monitor.assignors.streams.leader import ASSIGNMENT_ERROR, INCOMPLETE_SOURCE_TOPICS
from rebalance_monitor.assignors.streams.members import SHUTDOWN_REQUESTED, newest_version
from rebalance_monitor.assignors.streams.tasks import Release
from rebalance_monitor.schemas.streams_tasks import PROTOCOL
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import ConsumerShare, ExpectedShare, Grade, Verdict
from .members import StreamsThread
from .observed import POOL

VERSION_PROBING = 2
"""Handed out up to 2.5; later leaders never do."""
_FIRST_WITHOUT_PROBING_CODE: Release = (2, 6)


def asking(threads: Sequence[StreamsThread]) -> list[StreamsThread]:
    """Threads that ask for the shutdown of the application, as their leader reads them: of members of a version that it
    does not know it reads no code."""
    return [one for one in threads if one.said.error == SHUTDOWN_REQUESTED and one.process_id != POOL]


def judged(threads: Sequence[StreamsThread], releases: Collection[Release]) -> Verdict | None:
    """The verdict that the error codes decide; None where they decide nothing. `releases` are those that the leader can
    be of."""
    codes = {thread.told.error for thread in threads}
    asked = asking(threads)
    if not asked and codes == {0}:
        return None
    if asked:
        return _shutdown(threads, asked, releases)
    if SHUTDOWN_REQUESTED in codes:
        return _wrong(f"the leader handed out error {SHUTDOWN_REQUESTED}, a shutdown that no member asked for")
    able = {INCOMPLETE_SOURCE_TOPICS, ASSIGNMENT_ERROR, *_probing(releases)}
    unknown = codes - {0} - able
    if unknown:
        return _wrong(f"no leader hands out error {max(unknown)}")
    if not all(map(_is_error, threads)) or len(codes) > 1:
        return _wrong(f"error {max(codes)} stands beside tasks or other codes: a leader hands it to everybody, alone")
    return None


def _shutdown(
    threads: Sequence[StreamsThread], asked: Sequence[StreamsThread], releases: Collection[Release]
) -> Verdict:
    expected = {thread.id: ExpectedShare(assigned=ConsumerShare(())) for thread in threads}
    told = {(one.told.error, one.told.version, one.told.commonly_supported) for one in threads}
    able = [one for one in releases if told == {(SHUTDOWN_REQUESTED, newest_version(one), newest_version(one))}]
    if able and all(map(_is_error, threads)):
        eras = tuple(dict.fromkeys(era_of(one).name for one in able))
        return Verdict(grade=Grade.MATCH, assignor=PROTOCOL, eras=eras, expected=expected)
    text = f"{asked[0].id} asks for the shutdown of the application, and not everybody was told just that"
    return _wrong(text, expected)


def _probing(releases: Collection[Release]) -> set[int]:
    return {VERSION_PROBING} if any(one < _FIRST_WITHOUT_PROBING_CODE for one in releases) else set()


def _is_error(thread: StreamsThread) -> bool:
    """Whether it was given nothing but the code."""
    told = thread.told
    nothing = (thread.given.partitions, told.active, told.standby, told.hosts, told.standby_hosts)
    return not any(nothing) and thread.next_rebalance_ms is None


def _wrong(text: str, expected: dict[str, ExpectedShare] | None = None) -> Verdict:
    reason = Reason(ReasonKind.OTHER_ANSWER, text)
    return Verdict(grade=Grade.UNEXPLAINED, assignor=PROTOCOL, reason=reason, expected=expected)
