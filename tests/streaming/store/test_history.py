"""The part that looks and cuts: what it tells, when it cuts, and what it says where a day cannot be archived."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rebalance_monitor.streaming.store.history import CUT_EVERY_S, FIRST_CUT_S, Health, HistoryKeeper
from rebalance_monitor.streaming.supervision import PartFailed
from tests.streaming.builders import incident
from tests.streaming.store.test_retention import KEPT, NOW_MS, TODAY, World, named, world

__all__ = ["world"]
pytestmark = pytest.mark.postgres


@dataclass
class Shown:
    """Who publishes, and the clock."""

    seen: list[Health] = field(default_factory=list)
    cuts: int = 0
    clock_s: float = 0.0

    def history(self, health: Health) -> None:
        self.seen.append(health)

    def history_cut(self) -> None:
        self.cuts += 1


def keeper(world: World, shown: Shown, archive: Any = None, **more: Any) -> HistoryKeeper:
    given: dict[str, Any] = {"clock_s": lambda: shown.clock_s, "now_s": lambda: NOW_MS / 1000}
    return HistoryKeeper(world.dsn, replace(KEPT, **more), shown, archive=archive, **given)


def test_it_cuts_five_minutes_after_the_start_and_then_every_hour(world: World) -> None:
    shown = Shown()
    some = keeper(world, shown)
    world.write(TODAY - 40)
    world.write(TODAY)
    some.look()
    assert (shown.cuts, len(world.days())) == (0, 2)
    shown.clock_s = FIRST_CUT_S
    some.look()
    assert (shown.cuts, world.days()) == (1, [TODAY])
    shown.clock_s += CUT_EVERY_S - 1
    some.look()
    assert shown.cuts == 1
    shown.clock_s += 1
    some.look()
    assert shown.cuts == 2


def test_what_it_tells_of_the_database(world: World) -> None:
    shown = Shown()
    world.write(TODAY - 2, incident("fired", group="g"))
    world.write(TODAY)
    keeper(world, shown).look()
    (health,) = shown.seen
    assert {
        "stored_generations",
        "stored_contents",
        "stored_assignments",
        "incidents",
        "outbox",
        "states",
    } <= health.table_bytes.keys()
    assert not [name for name in health.table_bytes if name[-1].isdecimal() or name.endswith("_other")]
    assert all(size > 0 for size in health.table_bytes.values())
    assert health.limit_bytes == KEPT.max_bytes
    assert 0 < health.day_bytes < sum(health.table_bytes.values())
    assert health.since_s == (TODAY - 2) * 86_400
    assert health.waiting_since_s > 1_700_000_000


def test_a_day_that_cannot_be_archived_is_said_and_tried_again_at_the_next_look(world: World) -> None:
    shown, answers = Shown(clock_s=0.0), [OSError("no room"), None]
    world.write(TODAY - 40)
    world.write(TODAY)

    def archive(_connection: Any, _day: int) -> int:
        if (why := answers.pop(0)) is not None:
            raise why
        return 1

    some = keeper(world, shown, archive)
    shown.clock_s = FIRST_CUT_S
    with pytest.raises(PartFailed, match="nothing is cut: no room"):
        some.look()
    assert (shown.cuts, len(world.days())) == (0, 2)
    some.look()
    assert (shown.cuts, world.days()) == (1, [TODAY])


def test_today_and_tomorrow_have_partitions_before_anybody_writes(world: World) -> None:
    keeper(world, Shown()).look()
    assert world.partitions() == [named(TODAY), named(TODAY + 1), named("other")]


def test_a_database_that_is_away_is_no_failure_of_the_part(world: World) -> None:
    shown = Shown(clock_s=0.0)
    some = HistoryKeeper("postgresql://nobody@127.0.0.1:1/none", KEPT, shown)
    some.look()
    assert shown.seen == []
