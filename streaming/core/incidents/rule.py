"""What is declared of a rule."""

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_monitor.streaming.core.model.findings import Severity
from .step import Step

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Check:
    """One way to confirm a finding with Kafka's own means: what to run, and what it shows if the finding is true."""

    run: str
    shows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a finding of this code is called, how bad it usually is, and which Kafka bugs have looked like it.

    `issues_fit`: every finding looks like these bugs; else the law names those that fit what was seen.
    `alert` is the name of its alert, the same for all rules of one title. `wrong` says what is wrong while an incident
    is open: the alert and the runbook begin with it. `meaning` is the law: what holds as long as nothing is found.
    `exceptions` are the legitimate cases that look like a
    violation and are none, one short phrase each: the law knows them and a test proves each. People are told when a
    finding has lasted `for_ms`, and of its end `keep_firing_ms` after it; `pages`: a certain one may wake somebody;
    `pages_after_ms`: it may wake somebody once it has lasted so long; `absorbs`: while it is notified, incidents of
    rules that are `absorbed` are suppressed; `report`: it is info however bad it is, since nobody is harmed.
    `patience` names, for a rule with a timer of its own, how long that timer waits before the incident opens; people
    are told at once then, and a configured `for_ms` is the timer's patience instead.

    `needs_every_generation`: what it finds may be wrong where generations were not seen, so it is not judged where a
    group is polled (`fold.sampling`).

    `recurs`: what it finds is usually over with the next generation; what comes again and again is a finding of the
    whole group (`fold.recurring`).

    `ends_with_delay`: it ends when the scheduled delay of Connect does, if nothing else happens.

    For whoever is told: `confirm`, `advice` (steps, in order) and `resolves`, when it ends without anybody's help.
    """

    code: str
    title: str
    severity: Severity
    alert: str
    wrong: str
    issues: tuple[str, ...] = ()
    issues_fit: bool = True
    meaning: str = ""
    exceptions: tuple[str, ...] = ()
    for_ms: int = 5 * MINUTE_MS
    keep_firing_ms: int = 0
    pages: bool = False
    pages_after_ms: int | None = None
    absorbs: bool = False
    absorbed: bool = False
    report: bool = False
    patience: str = ""
    confirm: tuple[Check, ...] = ()
    advice: tuple[Step, ...] = ()
    resolves: str = ""
    needs_every_generation: bool = True
    recurs: bool = False
    ends_with_delay: bool = False


def declared(names: Mapping[str, object]) -> tuple[Rule, ...]:
    """The rules that a module declares, in its order. `names`: the module's, as `vars()` gives them."""
    return tuple(one for one in names.values() if isinstance(one, Rule))
