"""Our code and Kafka's class in turns, so that a slow spell of the machine meets both."""

import statistics
import time
from collections.abc import Callable, Sequence

MEASURED = 9
"""Runs of one series."""


def median_ms(run: Callable[[], object], times: int = MEASURED) -> float:
    """The median of so many runs, by the processor time of this thread."""
    taken = []
    for _ in range(times):
        began = time.thread_time()
        run()
        taken.append(time.thread_time() - began)
    return statistics.median(taken) * 1000


def in_turns(
    run: Callable[[], object], kafkas_ns: Callable[[], Sequence[int]], series: int, times: int = MEASURED
) -> tuple[float, float]:
    """Our median and Kafka's, in ms: on either side that of the least disturbed series."""
    run()
    own, kafkas = [], []
    for _ in range(series):
        own.append(median_ms(run, times))
        kafkas.append(statistics.median(kafkas_ns()) / 1e6)
    return min(own), min(kafkas)
