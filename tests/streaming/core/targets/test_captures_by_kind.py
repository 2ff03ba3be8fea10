"""What holds of real groups with targets, whatever their kind."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.targets.kinds import CONSUMER, SHARE, STREAMS
from tests.profile import size
from tests.streaming.core.targets.captured import (
    CONSUMERS,
    SHARES,
    folded,
    folded_at_once,
    known,
    rows_by_group,
    settings_of,
)
from tests.streaming.core.targets.captured import STREAMS as OF_STREAMS
from tests.streaming.folded_group import FoldedGroup

OF_CONSUMERS = [(CONSUMERS, f"k-{name}") for name in ("uniform", "range", "regex", "default")]
CONVERTED = [(CONSUMERS, f"k-migrate{name}") for name in ("", "-static", "-coop")]
OTHERS = [(OF_STREAMS, "app-a"), (OF_STREAMS, "app-b"), (SHARES, "share-equal"), (SHARES, "share-mixed")]
CODES = frozenset(rule.code for kind in (CONSUMER, STREAMS, SHARE) for rule in kind.rules.values())
one_by_one = pytest.mark.parametrize(
    ("capture", "group"), [OF_CONSUMERS[0], CONVERTED[0], *OTHERS], ids=lambda one: str(getattr(one, "name", one))
)
every = pytest.mark.parametrize(
    ("capture", "group"), [*OF_CONSUMERS, *CONVERTED, *OTHERS], ids=lambda one: str(getattr(one, "name", one))
)


@one_by_one
def test_one_record_at_a_time_says_the_same_as_all_at_once(capture: Path, group: str) -> None:
    batches = ([one] for one in rows_by_group(capture)[group])
    assert folded(capture, group, batches) == folded_at_once(capture, group)


@given(st.sampled_from([*OF_CONSUMERS, *CONVERTED, *OTHERS]), st.data())
@profile(max_examples=size(10, 300), deadline=None)
def test_wherever_batches_are_cut_the_same_is_published(of: tuple[Path, str], data: st.DataObject) -> None:
    rows = rows_by_group(of[0])[of[1]]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rows) - 1), max_size=8)))
    batches = [rows[start:end] for start, end in pairwise([0, *cuts, len(rows)])]
    assert folded(*of, batches) == folded_at_once(*of)


@every
def test_real_groups_read_as_they_went_on_break_no_rule(capture: Path, group: str) -> None:
    followed = FoldedGroup(settings_of(capture), group, known(capture))
    for row in rows_by_group(capture)[group]:
        followed.fold([row], row.timestamp_ms + 20)
    assert [one.message for one in followed.results if isinstance(one, Incident) and one.code in CODES] == []
