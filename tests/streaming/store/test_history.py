"""The part that looks and cuts: what it tells, when it cuts, and what it says where a day cannot be archived."""

import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from rebalance_monitor.streaming.core.metrics import DATABASE_BYTES, DATABASE_LIMIT
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.store.history import CUT_EVERY_S, FIRST_CUT_S, Health, HistoryKeeper
from rebalance_monitor.streaming.supervision import PartFailed
from tests.streaming.builders import incident
from tests.streaming.store.test_retention import KEPT, NOW_MS, TODAY, World, named, world
from tests.waiting import PATIENCE_S

__all__ = ["world"]
pytestmark = pytest.mark.postgres
RULES = Path(__file__).parents[3] / "dashboards" / "generated" / "alerts.yml"
PROMTOOL = shutil.which("promtool")


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


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool: apt-get install prometheus")
def test_an_alert_fires_of_a_database_that_its_cuts_leave_too_large(world: World, tmp_path: Path) -> None:
    """The real database through the real exporter to the rule itself: two hours of look and cut above the limit, the
    limit raised, and it ends."""
    for day in (TODAY - 1, TODAY):
        world.write(day)
    looked = [_scraped(world, max_bytes=1), _scraped(world, max_bytes=KEPT.max_bytes)]
    assert (world.days(), looked[0].keys()) == ([TODAY], looked[1].keys())
    a_minute_each = {name: f"{above}x150 {looked[1][name]}x60" for name, above in looked[0].items()}
    series = [{"series": name, "values": values} for name, values in a_minute_each.items()]
    beats = {"series": 'rebalance_monitor_heartbeat_timestamp_seconds{cluster="c"}', "values": "1+60x220"}
    fires = 'ALERTS{alertname="RebalanceMonitorDatabaseFull", alertstate="firing", cluster="c", severity="warning"}'
    sees = [
        {"expr": fires, "eval_time": at, "exp_samples": [{"labels": fires, "value": 1}] if firing else []}
        for at, firing in (("1h50m", False), ("2h10m", True), ("3h", False))
    ]
    test = {"interval": "1m", "input_series": [*series, beats], "promql_expr_test": sees}
    document = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
    asked = [str(PROMTOOL), "test", "rules", str(tmp_path / "test.yml")]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr


def _scraped(world: World, max_bytes: int) -> dict[str, float]:
    """The size of each table and the limit, by the name of the series, after a cut."""
    exporter = Exporter(0, clusters=["c"])
    given: dict[str, Any] = {"clock_s": iter((0.0, FIRST_CUT_S, FIRST_CUT_S)).__next__, "now_s": lambda: NOW_MS / 1000}
    try:
        HistoryKeeper(world.dsn, replace(KEPT, max_bytes=max_bytes), exporter, **given).look()
        text = exporter.scrape().decode()
    finally:
        exporter.stop()
    shown = (f"{DATABASE_BYTES.name}{{", f"{DATABASE_LIMIT.name}{{")
    return {
        name: float(value) for name, value in (line.split() for line in text.splitlines() if line.startswith(shown))
    }
