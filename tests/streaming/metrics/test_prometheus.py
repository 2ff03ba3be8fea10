"""The exporter over real HTTP: what is open is 1, what ended is 0 for a while, and readiness comes last."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from lab.asking import local
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.metrics import METRICS
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import (
    AlertSeverity,
    GapRecord,
    Grade,
    Incident,
    JobState,
    Result,
    Standing,
    Subject,
    Verdict,
)
from rebalance_monitor.streaming.metrics.batch_view import view_of
from rebalance_monitor.streaming.metrics.endpoint import PortTaken
from rebalance_monitor.streaming.metrics.incident_series import ZERO_FOR_S
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.metrics.unseen_ends import MOST_HELD
from rebalance_monitor.streaming.store.gaps import TopicGaps
from rebalance_monitor.streaming.store.maintenance import Windows
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import TOPIC, commit, generation, incident, pending, undecodable
from tests.waiting import PATIENCE_S

INCIDENT = (
    'rebalance_monitor_incident{cluster="c",connector="my-sink",group="connect-1",path="prometheus",'
    'rule="duplicate_active",severity="%s",team="",worker="w1:8083"}'
)
OPEN = INCIDENT % "critical"
Scrape = Callable[[], dict[str, float]]


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def exporter(clock: Clock) -> Iterator[Exporter]:
    made = Exporter(0, clusters=["c"], version="1", clock_s=clock)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def scrape(exporter: Exporter) -> Scrape:
    def read() -> dict[str, float]:
        lines = local().get(f"{exporter.url}/metrics", timeout=PATIENCE_S).text.splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"}

    return read


def report(*results: Result, **more: object) -> SimpleNamespace:
    given = {
        "cluster": "c",
        "rows": 3,
        "seconds": 0.25,
        "kinds": {},
        "unknown_tags": {},
        "other_groups": {},
        "fold_errors": {},
        "refused": (),
        **more,
    }
    return SimpleNamespace(view=view_of(results), **given)


def status(**more: object) -> SimpleNamespace:
    return SimpleNamespace(
        **{"backlog": {TOPIC: 0}, "missing": {}, "problem": None, "blind": None, "caught_up": True, **more}
    )


def test_every_declared_metric_is_known_under_its_own_name(exporter: Exporter) -> None:
    text = exporter.scrape().decode()
    for metric in METRICS:
        assert f"# HELP {metric.name} " in text
    assert "_created" not in text
    assert "python_" not in text


def test_a_batch_moves_the_counters(exporter: Exporter, scrape: Scrape) -> None:
    gap = GapRecord(cluster="c", topic=TOPIC, partition=3, from_offset=10, to_offset=14, reason="deleted")
    bad = undecodable(6)
    exporter.batch(
        report(
            generation(), pending(8), bad, bad, gap, gap,
            kinds={(TOPIC, "GroupGeneration"): 2}, unknown_tags={TOPIC: 3}, other_groups={("c", "g", "share"): 4},
        )
    )  # fmt: skip
    seen = scrape()
    assert seen['rebalance_monitor_generations_total{cluster="c",grade="match",group="connect-1"}'] == 1
    assert not any("not_judged" in series for series in seen)
    assert seen['rebalance_monitor_undecodable_records_total{cluster="c",reason="trailing bytes"}'] == 1
    assert not any("gap_records" in series for series in seen), "gaps are counted where they are stored"
    assert seen[f'rebalance_monitor_records_total{{cluster="c",kind="GroupGeneration",topic="{TOPIC}"}}'] == 2
    assert seen[f'rebalance_monitor_unknown_tagged_fields_total{{cluster="c",topic="{TOPIC}"}}'] == 3
    assert seen['rebalance_monitor_other_groups{cluster="c",type="share"}'] == 1
    assert seen['rebalance_monitor_batches_total{cluster="c"}'] == 1
    assert seen['rebalance_monitor_last_batch_duration_seconds{cluster="c"}'] == 0.25
    assert seen['rebalance_monitor_heartbeat_timestamp_seconds{cluster="c"}'] > 1_700_000_000


def test_a_gap_counts_once_whether_the_database_or_the_batch_tells_of_it_first(
    exporter: Exporter, scrape: Scrape
) -> None:
    gap = GapRecord(cluster="c", topic=TOPIC, partition=3, from_offset=10, to_offset=14, reason="deleted")
    exporter.gaps([TopicGaps("c", TOPIC, 4, 1)])  # the rows are read between the commit and what follows it
    exporter.batch(report(gap))
    exporter.gaps([TopicGaps("c", TOPIC, 4, 1)])
    assert scrape()[f'rebalance_monitor_gap_records_total{{cluster="c",topic="{TOPIC}"}}'] == 4


def test_the_clusters_label_has_the_name_that_the_configuration_gives_it() -> None:
    exporter = Exporter(0, clusters=["c"], cluster_label="kafka_cluster")
    try:
        before = exporter.scrape().decode()
        exporter.batch(report(generation(), incident(), kinds={(TOPIC, "GroupGeneration"): 2}))
        exporter.reader("c", status())
        exporter.notified("sent")
        exporter.beat("sent")
        exporter.audited(0)
        text = exporter.scrape().decode()
    finally:
        exporter.stop()
    assert 'rebalance_monitor_heartbeat_timestamp_seconds{kafka_cluster="c"} 0.0' in before, "0 says never yet"
    assert " cluster=" not in text.replace("{", " ").replace(",", " ")
    (shown,) = [line for line in text.splitlines() if line.startswith("rebalance_monitor_incident{")]
    assert 'kafka_cluster="c"' in shown
    assert 'rebalance_monitor_notifications_total{kafka_cluster="c",outcome="sent"} 1.0' in text
    assert all("kafka_cluster=" in line for line in text.splitlines() if not line.startswith(("#", "process_")))


def test_no_series_of_a_shadow_has_the_name_of_a_live_one() -> None:
    own = Exporter(0, clusters=["c"], version="1", shadow="candidate")
    own.observe([incident()])
    names = {line.split("{")[0].split(" ")[0] for line in own.scrape().decode().splitlines() if line[0] != "#"}
    ours = {name for name in names if name.startswith("rebalance_monitor")}
    assert "rebalance_monitor_shadow_incident" in ours
    assert "rebalance_monitor_shadow_ready" in ours
    assert not [name for name in ours if not name.startswith("rebalance_monitor_shadow_")]
    assert own.readiness()[1]["shadow"] == "candidate"
    own.stop()


def test_a_group_shows_its_latest_generation_whatever_comes_late(exporter: Exporter, scrape: Scrape) -> None:
    final = Verdict(grade=Grade.NOT_JUDGED, reason=Reason(ReasonKind.EVIDENCE_MISSING, "evidence missing"))
    newer = generation(9, generation=8, delay_ms=3_000, unassigned=("a-0",))
    exporter.observe([newer, generation(5, generation=7, verdict=final)])
    seen, group = scrape(), '{cluster="c",group="connect-1"}'
    assert seen[f"rebalance_monitor_group_generation{group}"] == 8
    assert seen[f"rebalance_monitor_connect_unassigned_tasks{group}"] == 1
    assert seen[f"rebalance_monitor_connect_delay_end_timestamp_seconds{group}"] == 4.0


def test_an_incident_is_one_while_open_then_zero_then_gone(exporter: Exporter, scrape: Scrape, clock: Clock) -> None:
    exporter.observe([incident()])
    assert scrape()[OPEN] == 1
    exporter.observe([incident("resolved")])
    assert scrape()[OPEN] == 0
    clock.now_s += ZERO_FOR_S
    assert scrape()[OPEN] == 0
    clock.now_s += 1
    assert OPEN not in scrape()


def test_incidents_with_equal_labels_are_one_series_until_the_last_ends(exporter: Exporter, scrape: Scrape) -> None:
    exporter.observe([incident(), incident(incident_id="i2"), incident("resolved")])
    assert scrape()[OPEN] == 1
    exporter.observe([incident("resolved", "i2")])
    assert scrape()[OPEN] == 0


def test_a_change_of_severity_ends_the_old_labels(exporter: Exporter, scrape: Scrape) -> None:
    exporter.observe([incident(), incident("updated", alert=AlertSeverity.WARNING)])
    assert (scrape()[OPEN], scrape()[INCIDENT % "warning"]) == (0, 1)
    exporter.observe([incident("updated", alert=AlertSeverity.CRITICAL)])
    assert (scrape()[OPEN], scrape()[INCIDENT % "warning"]) == (1, 0)


def test_an_incident_that_is_over_before_a_scrape_is_one_at_the_next_scrape_alone(
    exporter: Exporter, scrape: Scrape
) -> None:
    exporter.observe([incident(), incident("resolved")])
    first = scrape()
    assert first[OPEN] == 1
    assert [name for name in first if name.startswith("rebalance_monitor_incident_since")], "the alert says what of"
    exporter.observe([incident("fired", times_told=2), incident("updated")])
    exporter.observe([incident("ended", firing=False)])
    assert scrape()[OPEN] == 1
    assert scrape()[OPEN] == 0


def test_an_incident_that_goes_on_after_its_end_was_held_is_one(exporter: Exporter, scrape: Scrape) -> None:
    exporter.observe([incident(), incident("ended", firing=False)])
    scrape()
    exporter.observe([incident("fired", times_told=2)])
    assert (scrape()[OPEN], scrape()[OPEN]) == (1, 1)


def test_ends_that_nobody_scrapes_are_not_kept_without_bound(exporter: Exporter, scrape: Scrape) -> None:
    for number in range(MOST_HELD + 1):
        name = f"i{number}"
        exporter.observe([incident(incident_id=name, group=name), incident("resolved", incident_id=name, group=name)])
    seen = scrape()
    assert seen[OPEN.replace("connect-1", f"i{MOST_HELD - 1}")] == 1
    assert seen[OPEN.replace("connect-1", f"i{MOST_HELD}")] == 0


def test_history_raises_no_gauge(exporter: Exporter, scrape: Scrape) -> None:
    exporter.observe([incident(historic=True)])
    assert OPEN not in scrape()


def past(cluster: str, *incidents: Incident) -> Any:
    """What is stored of a cluster: these incidents."""
    return SimpleNamespace(
        cluster=cluster, open_incidents=lambda _: list(incidents), latest_generations=list, counted_groups=list,
        led=dict, latest_loads=dict, latest_tasks=dict, standings=list, agreements=list, look_for_windows=lambda: None,
    )  # fmt: skip


def test_of_several_clusters_those_that_cannot_be_read_leave_the_job_ready() -> None:
    exporter = Exporter(0, clusters=["a", "b"])
    try:
        assert not exporter.readiness()[0]
        for cluster in ("a", "b"):
            exporter.restore(past(cluster))
        exporter.reader("a", status())
        exporter.reader("b", status(caught_up=False, backlog={TOPIC: 7}))
        assert not exporter.readiness()[0], "it has an end to come to"
        exporter.of("b").part("topics", "no answer")
        assert exporter.readiness()[1]["parts"] == {"topics of b": "no answer"}
        assert exporter.readiness("b")[1]["parts"] == {"topics": "no answer"}
        exporter.of("b").part("topics", None)
        exporter.reader("b", status(problem="no broker answers"))
        ready, told = exporter.readiness()
        assert (ready, told["watched"], told["clusters"]) == (True, ["a", "b"], {"b": "no broker answers"})
        assert exporter.readiness("a") == (True, {"ready": True, "clusters": {}})
        assert exporter.readiness("b")[0] is False
        exporter.trouble("a", "the query ended")
        assert not exporter.readiness()[0], "nothing is read at all"
        exporter.trouble("a", None)
        exporter.forget("b")
        assert exporter.readiness() == (True, {"ready": True, "clusters": {}})
        assert b'cluster="b"' not in exporter.scrape()
        with pytest.raises(KeyError):
            exporter.readiness("b")
    finally:
        exporter.stop()


def test_each_metric_is_described_once_however_many_clusters_there_are() -> None:
    window = Maintenance(cluster="*", groups="*", owner="jane", reason="upgrade", from_ms=0, until_ms=10**15)
    exporter = Exporter(0, clusters=["a", "b"], windows=Windows([window]))
    try:
        text = exporter.scrape().decode()
    finally:
        exporter.stop()
    described = [line for line in text.splitlines() if line.startswith("# HELP")]
    series = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(described) == len(set(described))
    assert len(series) == len(set(series))
    assert {'rebalance_monitor_ready{cluster="a"}', 'rebalance_monitor_ready{cluster="b"}'} <= set(series)


def test_ready_only_when_restored_reachable_and_caught_up(exporter: Exporter, scrape: Scrape) -> None:
    def answer() -> tuple[int, str]:
        got = local().get(f"{exporter.url}/readyz", timeout=PATIENCE_S)
        return got.status_code, got.text

    assert answer()[0] == 503
    exporter.reader("c", status())
    assert "not published yet" in answer()[1]
    exporter.restore(past("c", incident()))
    assert answer()[0] == 200
    assert scrape()[OPEN] == 1
    exporter.reader("c", status(caught_up=False, backlog={TOPIC: 7}))
    assert "catching up, 7 records left" in answer()[1]
    assert scrape()[f'rebalance_monitor_position_lag_records{{cluster="c",topic="{TOPIC}"}}'] == 7
    exporter.reader("c", status())
    exporter.trouble("c", "PostgreSQL can't be used")
    assert answer()[0] == 503
    assert scrape()['rebalance_monitor_ready{cluster="c"}'] == 0
    exporter.trouble("c", None)
    assert answer() == (200, '{"ready": true, "clusters": {}}\n')


def test_what_is_missing_degrades_and_comes_back(exporter: Exporter, scrape: Scrape) -> None:
    series = 'rebalance_monitor_degraded{cluster="c",reason="connect-configs: no such topic"}'
    exporter.reader("c", status(missing={"connect-configs": "no such topic"}))
    assert scrape()[series] == 1
    exporter.reader("c", status())
    assert scrape()[series] == 0


def test_a_topic_that_is_read_no_more_has_no_lag(exporter: Exporter, scrape: Scrape) -> None:
    series = 'rebalance_monitor_position_lag_records{cluster="c",topic="connect-configs"}'
    exporter.reader("c", status(backlog={TOPIC: 0, "connect-configs": 4}))
    exporter.reader("c", status(backlog={}, problem="no broker answers", caught_up=False))
    assert scrape()[series] == 4, "nobody knows better"
    exporter.reader("c", status(missing={"connect-configs": "no such topic"}))
    assert series not in scrape()


def test_other_pages(exporter: Exporter) -> None:
    assert local().get(f"{exporter.url}/healthz", timeout=PATIENCE_S).text == "ok\n"
    assert local().get(f"{exporter.url}/", timeout=PATIENCE_S).status_code == 404
    assert exporter.url.startswith("http://127.0.0.1:")


def test_a_taken_port_is_one_sentence(exporter: Exporter) -> None:
    port = int(exporter.url.rpartition(":")[2])
    with pytest.raises(PortTaken, match=rf"can't listen on 127\.0\.0\.1:{port} \(Address already in use\); set http"):
        Exporter(port)


@pytest.mark.postgres
def test_a_start_publishes_what_the_database_knows(store: PostgresStore, exporter: Exporter, scrape: Scrape) -> None:
    epoch = store.claim()
    first = generation(5, generation=1)
    others = {
        ("c", "one", "unknown"): 2,
        ("c", "two", "unknown"): 1,
        ("c", "s", "share"): 1,
        ("c", "kip848", "consumer"): 1,
    }
    gone = Standing(cluster="c", group="gone", state="Dead", at_ms=1)
    here = Standing(cluster="c", group="connect-1", state="Stable", at_ms=1)
    waits = JobState(
        cluster="c", group="connect-1", job=Subject("task", "a-1"), incarnation=0, generation=2, assigned=(),
        expected=None, judged=True, state=None, running=None, running_generation=None, running_at_ms=None,
        since_ms=1, agreement="unassigned",
    )  # fmt: skip
    second = generation(8, generation=2)
    known = (first, second, generation(9, group="gone"), incident(), gone, here, waits)
    store.commit(commit(epoch, 0, 10, *known, other_groups=others))
    exporter.restore(store)
    seen = scrape()
    assert seen[OPEN] == 1
    assert seen['rebalance_monitor_group_generation{cluster="c",group="connect-1"}'] == 2
    assert seen['rebalance_monitor_other_groups{cluster="c",type="unknown"}'] == 2
    assert seen['rebalance_monitor_connect_worker_tasks{cluster="c",group="connect-1",worker="w2:8083"}'] == 1
    assert seen['rebalance_monitor_group_state{cluster="c",group="connect-1",state="Stable"}'] == 1
    assert seen['rebalance_monitor_connect_task_agreement{agreement="unassigned",cluster="c",group="connect-1"}'] == 1
    task = 'connector="a",group="connect-1",reason="waiting",task="1"'
    assert seen[f'rebalance_monitor_connect_task{{cluster="c",{task}}}'] == 1
    assert not any('group="gone"' in series for series in seen)
    exporter.observe([incident("resolved")])
    assert scrape()[OPEN] == 0
