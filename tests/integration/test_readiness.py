"""A cluster on which nothing is wrong, at several rates of commits: always ready, and no heartbeat is withheld.

`make readiness` is the long profile. What a machine that does much else delays is no failure of the job, so the limit
is far above the default; a job that took unread records for a backlog would not be ready at any rate but 0.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from lab.ports import HOST
from lab.process import Child
from lab.readiness import BEAT_MS, beats, observe
from tests.integration.watched import Watched
from tests.streaming.notify.receiver import Receiver, receiving

pytestmark = pytest.mark.integration
MAX_LAG_S = 60
SECONDS = 12


@dataclass(frozen=True, slots=True)
class Beating:
    """A job that is ready, and who hears its heartbeat."""

    job: Child
    beats: Receiver


@pytest.fixture(scope="module")
def beating(watched: Watched) -> Iterator[Beating]:
    with ExitStack() as stack:
        beats = stack.enter_context(receiving("/beat"))
        sections = {
            "alerting": {"heartbeat_url": f"{beats.url}/beat", "heartbeat_every_ms": BEAT_MS},
            "ready": {"max_lag_s": MAX_LAG_S},
            # A heartbeat is sent while a batch, if only an empty one, was committed within three times this.
            "source": {"heartbeat_ms": MAX_LAG_S * 1000 // 3},
        }
        watched.rebalance("first")  # makes the offsets topic
        job = stack.enter_context(watched.job("readiness", **sections))
        watched.wait_ready(job)
        watched.lab.wait_for("the first heartbeat", lambda: bool(beats.requests), job)
        yield Beating(job, beats)


@pytest.mark.parametrize("per_s", [0.0, 20.0, 500.0, 5_000.0])
def test_always_ready_while_nothing_is_wrong(watched: Watched, beating: Beating, per_s: float) -> None:
    job = beating.job
    url = f"http://{HOST}:{watched.http_port}"
    seen = observe(url, watched.broker.address, per_s, SECONDS, job.pid, job.running)
    assert job.running()
    assert (seen.written > 0) == (per_s > 0)
    assert (seen.spells, seen.ready) == ([], seen.polls)
    assert seen.withheld == 0
    assert seen.sent > 0
    # Of all so far, as one is received before it is counted: between two moments one more may be counted.
    assert beats(url)[0] <= len(beating.beats.requests)
