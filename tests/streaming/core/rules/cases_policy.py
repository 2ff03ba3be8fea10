"""Cases of what declarations and wishes lead to: CONNECT-P1 to P5."""

from dataclasses import replace

from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases import Case
from tests.streaming.core.rules.cases_record import broken, near
from tests.streaming.core.rules.cases_static import (
    INFO,
    W1,
    W2,
    W3,
    group,
    idle_while_waiting,
    only_static_workers_wait,
    placed,
)


def wished(placements: dict[str, tuple[str, ...]], protocol: str = "sessioned") -> Story:
    """A real group; the monitor's configuration says where some jobs are meant to run."""
    story = group(story=Story(protocol))
    known: ConnectSettings = story.settings.connect[GROUP]
    story.settings = replace(story.settings, connect={GROUP: replace(known, placements=placements)})
    return story


def missing_job_declared() -> Story:
    return placed("c1-0", "c9")


def idle_static_worker() -> Story:
    return placed("c9-0")


def idle_while_revoking() -> Story:
    story = placed()
    story.join("w3", static=["c1-0"])
    story.rebalance()
    return story


def one_lister() -> Story:
    return placed("c1-0")


def lister_gone() -> Story:
    """After the delay its job runs on a worker without declarations."""
    story = placed("c1-0")
    story.leave("w3")
    story.rebalance()
    story.rebalance(after_ms=300_100)
    return story


def wish_not_met() -> Story:
    story = wished({"c1-0": ("w9:8083",)})
    story.rebalance()
    return story


CASES: tuple[Case, ...] = (
    broken("P1", missing_job_declared, INFO, "connector c9", says="nothing happens until it is created"),
    broken("P2", idle_static_worker, INFO, W3, says="it idles until"),
    near("P2", "revocations are under way", idle_while_revoking),
    near("P2", "a delay or back-off runs", idle_while_waiting),
    broken("P3", one_lister, INFO, W3, says="they wait for the whole delay"),
    broken("P4", lister_gone, INFO, "task c1-0", W2, says="go back in the first rebalance"),
    broken("P4", wish_not_met, INFO, "task c1-0", W1, says="will not move them back"),
    broken("P5", only_static_workers_wait, INFO, "group g", says="until a worker without declarations joins"),
)
