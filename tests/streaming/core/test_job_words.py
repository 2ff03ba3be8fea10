"""One word for the state of each connector and task, as the metrics count them."""

import pytest

from rebalance_monitor.streaming.core.connect.statuses.facts import WORDS, word_of

A, B = "a:8083", "b:8083"


@pytest.mark.parametrize(
    ("assigned", "state", "worker", "want"),
    [
        ((A,), "RUNNING", A, "running"),
        ((A,), "FAILED", A, "failed"),
        ((A,), "PAUSED", A, "paused"),
        ((A,), "STOPPED", A, "stopped"),
        ((A,), "RESTARTING", A, "restarting"),
        ((A,), "UNASSIGNED", A, "starting"),
        ((A,), "RUNNING", B, "starting"),
        ((A, B), "RUNNING", B, "running"),
        ((A,), None, None, "unknown"),
        ((), "UNASSIGNED", A, "unassigned"),
        ((), None, None, "unassigned"),
        ((), "RUNNING", A, "lost"),
        ((), "FAILED", A, "lost"),
        ((A,), "NEW_WORD", A, "starting"),
    ],
)
def test_the_word(assigned: tuple[str, ...], state: str | None, worker: str | None, want: str) -> None:
    assert word_of(assigned, state, worker) == want
    assert want in WORDS
