"""The rule about the monitor itself: the fold of a group failed."""

from rebalance_monitor.streaming.core.incidents.confirming import FOLD_ERRORS, KEPT_STATES
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import looks
from rebalance_monitor.streaming.core.model.results import Severity

MONITOR_ERROR = Rule(
    code="MONITOR-E1",
    title="monitor_error",
    alert="KafkaRebalanceMonitorError",
    wrong="The monitor failed on records of this group and judges the group anew from the next ones.",
    severity=Severity.MEDIUM,
    needs_every_generation=False,
    for_ms=0,
    meaning="The monitor can fold every record of the group.",
    confirm=(FOLD_ERRORS, KEPT_STATES),
    advice=(
        looks(
            "The monitor has an error of its own: report it with the fingerprint in the message and the trace in its "
            "log."
        ),
        looks(
            "The records named are committed as `not_judged: internal error`; the group was begun anew, so what "
            "depends on "
            "earlier records (who holds what, the leader's memory) is known again after the next generations."
        ),
        looks("Look at this group by other means until then: other groups are not affected."),
    ),
    resolves="After ten generations folded without an error, or a day without one.",
)

RULES = (MONITOR_ERROR,)
