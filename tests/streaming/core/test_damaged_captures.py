"""No damage to a capture makes the fold raise, live or replayed. The fold is called as it is, without any isolation.

RM_LONG=1 (`make fuzz`) damages 5,000; `RM_FUZZ_SEED` is the first seed.
"""

import os
import time
import traceback
from collections import Counter

from rebalance_monitor.streaming.core.connect.whole_inputs import Stamps
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import OtherGroup, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Result
from rebalance_monitor.streaming.core.replay import decode, folded
from tests.profile import size
from tests.streaming.core.damage import Damaged, damaged

COUNT = size(60, 5_000)
SEED = int(os.environ.get("RM_FUZZ_SEED", "20261122"))
LONGEST_S = 10.0
"""Of the processor: no damage may make a stretch of fourteen group records take this long."""
IN_ONE_BATCH = 4


def rows_of(damage: Damaged) -> list[Row]:
    rows = (decode(record, damage.settings) for record in damage.records)
    return [row for row in rows if row is not None and not isinstance(row.body, OtherGroup)]


def replayed(damage: Damaged, rows: list[Row]) -> list[Result]:
    """As `replay` does, in the file's order."""
    stamps = Stamps()
    for row in rows:
        stamps.logged(row.topic, row.partition, row.offset, row.timestamp_ms, exact=True)
        stamps.written(row)
    return folded(rows, stamps, damage.settings)


def live(damage: Damaged, rows: list[Row]) -> list[Result]:
    """Batch by batch, the clock with the newest record, then an hour of silence."""
    states: dict[str, Saved] = {}
    results: list[Result] = []
    now_ms = 0
    for at in range(0, len(rows) + 1, IN_ONE_BATCH):
        some = rows[at : at + IN_ONE_BATCH]
        now_ms = max([now_ms, *(row.timestamp_ms for row in some if row.timestamp_ms < 2**61)])
        last = at + IN_ONE_BATCH > len(rows)
        tick = Tick(now_ms + (3_600_000 if last else 50))
        routed = route(some, damage.settings)
        for group in {**dict.fromkeys(states if last else ()), **routed}:
            own = routed.get(group, [])
            outcome = fold_group(damage.settings, group, states.get(group), own, tick)
            states[group] = outcome.state
            results += outcome.results
    return results


def test_no_damage_makes_the_fold_raise() -> None:
    raised: dict[str, list[tuple[str, int, str]]] = {}
    told: Counter[str] = Counter()
    slow: list[tuple[int, float]] = []
    for seed in range(SEED, SEED + COUNT):
        damage = damaged(seed)
        began_s = time.process_time()
        for fold in (live, replayed):
            try:
                results = fold(damage, rows_of(damage))
            except Exception as why:
                where = traceback.extract_tb(why.__traceback__)[-1]
                what = f"{type(why).__name__} at {where.filename}:{where.lineno}"
                raised.setdefault(what, []).append((fold.__name__, seed, str(why)[:80]))
            else:
                told.update(result.verdict.grade.value for result in results if isinstance(result, Generation))
        if time.process_time() - began_s > LONGEST_S:
            slow.append((seed, time.process_time() - began_s))
    print(f"\n{COUNT} damaged captures from seed {SEED}, {len(raised)} places raised: {dict(told)}")
    assert {what: (len(found), found[:3]) for what, found in raised.items()} == {}
    assert slow == []
    # Damage must leave a good part sound, or the fold would only ever see rubble.
    assert told["match"] > COUNT
    assert told["not_judged"] > COUNT // 2
