"""Real groups with targets of every kind, as they were captured."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from rebalance_monitor.streaming.cli import captures
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Aftermath, Generation, Result, Standing
from rebalance_monitor.streaming.core.replay import decode
from tests.streaming.folded_group import FoldedGroup
from tests.vector_files import GROUP_CAPTURES

CONSUMERS, STREAMS, SHARES = (GROUP_CAPTURES / name for name in ("kip848-a", "streams-kip1071-4.3.1", "share-groups"))


known = cache(knowledge_of)
settings_of = cache(captures.settings_of)


@cache
def rows_by_group(capture: Path) -> Mapping[str, list[Row]]:
    settings = settings_of(capture)
    found: dict[str, list[Row]] = defaultdict(list)
    for record in records_of(capture):
        row = decode(record, settings)
        if row is not None and row.group is not None:
            found[row.group].append(row)
    return found


def folded(capture: Path, group: str, batches: Iterable[Sequence[Row]], *, knows: bool = True) -> list[Result]:
    """What is published of targets and states, batch by batch, with a tick behind each, then a reading of nothing."""
    followed, now_ms = FoldedGroup(settings_of(capture), group, known(capture) if knows else NOTHING_KNOWN), 0
    for batch in (*batches, ()):
        now_ms = batch[-1].timestamp_ms + 50 if batch else now_ms + 1_000
        followed.fold(batch, now_ms)
    return [one for one in followed.results if isinstance(one, Generation | Aftermath | Standing)]


@cache
def folded_at_once(capture: Path, group: str) -> list[Result]:
    """What is published where all records come in one batch."""
    return folded(capture, group, [rows_by_group(capture)[group]])
