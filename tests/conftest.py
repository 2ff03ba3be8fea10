"""Shared by every tier: Hypothesis profiles, deterministic by default."""

import gc

from hypothesis import HealthCheck, settings

from tests.profile import size

settings.register_profile(
    "short", derandomize=True, deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", deadline=None, max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(size("short", "long"))


def pytest_configure() -> None:
    """While tests are imported and collected, there is no garbage: looking for it took a fifth of that time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What is collected stays to the end: the garbage collector need not look through thousands of tests again and
    again. In the core's tests it took 9 % of the processor's time, and takes 3 % so."""
    gc.collect()
    gc.freeze()
    gc.enable()
