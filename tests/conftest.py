"""Shared by every tier: Hypothesis profiles, deterministic by default."""

import gc
import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "normal", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", deadline=None, max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("RM_HYPOTHESIS_PROFILE", "normal"))


def pytest_collection_finish() -> None:
    """What is collected stays to the end: the garbage collector need not look through thousands of tests again and
    again. In the core's tests it took 9 % of the processor's time, and takes 3 % so."""
    gc.collect()
    gc.freeze()
