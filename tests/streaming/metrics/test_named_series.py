"""The gauge that says what notified incidents are about, and since when."""

from rebalance_monitor.streaming.core.model.results import Subject
from rebalance_monitor.streaming.metrics.families import Families
from rebalance_monitor.streaming.metrics.limits import SeriesLimits
from rebalance_monitor.streaming.metrics.named_series import Subjects
from tests.streaming.builders import incident

NAME = "rebalance_monitor_incident_since_timestamp_seconds"


def shown(families: Families) -> dict[tuple[str, str], float]:
    samples = [sample for family in families.registry.collect() for sample in family.samples if sample.name == NAME]
    return {(one.labels["subject"], one.labels["workers"]): one.value for one in samples}


def test_what_an_incident_names_is_shown_until_it_is_over() -> None:
    families = Families()
    subjects = Subjects(families, SeriesLimits())
    subjects.incident(incident())
    subjects.incident(incident(incident_id="i2", rule="rebalance_storm", subjects=(Subject("group", "connect-1"),)))
    subjects.sweep()
    assert shown(families) == {("task my-sink-0", "w1:8083"): 1.0, ("", ""): 1.0}
    subjects.incident(incident("resolved"))
    subjects.sweep()
    assert shown(families) == {("", ""): 1.0}


def test_of_equal_labels_the_earlier_moment_counts() -> None:
    families = Families()
    subjects = Subjects(families, SeriesLimits())
    subjects.incident(incident(opened_at_ms=7_000))
    subjects.incident(incident(incident_id="i2", code="CONNECT-K2", opened_at_ms=5_000))
    subjects.sweep()
    assert list(shown(families).values()) == [5.0]


def test_there_are_never_more_series_than_the_limit() -> None:
    families = Families()
    subjects = Subjects(families, SeriesLimits(max_tasks=3))
    for number in range(9):
        subjects.incident(incident(incident_id=f"i{number}", subjects=(Subject("task", f"t-{number}"),)))
    subjects.sweep()
    assert len(shown(families)) == 3
