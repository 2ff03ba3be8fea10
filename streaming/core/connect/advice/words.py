"""What is said of a step besides its text: in which releases it does not help, and what it costs."""

from collections.abc import Collection

from rebalance_monitor.assignors.connect.eras import ERAS, Era
from rebalance_monitor.streaming.core.incidents.step import Step, WorkerMove

WAITING_MOVES = frozenset(
    {WorkerMove.RESTART_NAMED, WorkerMove.RESTART_ANOTHER, WorkerMove.REDECLARE, WorkerMove.KEEP_NAMED_AWAY}
)
"""After these, what the worker held waits for the delay: the leader stays and expects the worker back. A leader that
restarts itself is followed by one that knows nothing of the loss, so nothing waits.
"""
_COST = (
    "What else the worker holds does no work until `scheduled.rebalance.max.delay.ms` is over (5 minutes by default), "
    "even if the worker is back sooner."
)


def releases(era: Era) -> str:
    return ", ".join(_span(span.since, span.until) for span in era.spans)


def _span(since: str, until: str | None) -> str:
    if until is None:
        return f"since {since}"
    last = until.removesuffix(".99") + ".x" if until.endswith(".99") else until
    return since if since == last else f"{since} to {last}"


def limits(step: Step) -> str:
    """Where the step does not help; empty where it helps wherever the rule exists."""
    settings = ((step.useless_in, "a delay above 0"), (step.useless_without_delay_in, "a delay of 0"))
    if step.useless_in == step.useless_without_delay_in and step.useless_in:
        return f"Does not help with leaders of {_named(step.useless_in)}."
    return " ".join(
        f"With {setting} it does not help in {_named(eras)}; with {other} it does."
        for (eras, setting), other in zip(settings, ("a delay of 0", "a delay above 0"), strict=True)
        if eras
    )


def _named(eras: Collection[str]) -> str:
    spans = [(one.since, one.until) for name, era in ERAS.items() if name in eras for one in era.spans]
    whole = [name for name in ERAS if name in eras]
    first = [name for name in ERAS][: len(whole)]
    if whole == first and len(whole) < len(ERAS):
        following = list(ERAS.values())[len(whole)]
        return f"releases before {following.since}"
    return ", ".join(_span(since, until) for since, until in spans)


def whole_text(step: Step) -> str:
    """The step as people read it: what to do, where it does not help, what it costs."""
    cost = _COST if step.move in WAITING_MOVES and not step.warns else ""
    return " ".join(text for text in (step.text, limits(step), cost) if text)
