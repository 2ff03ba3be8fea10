"""The rule of each law in each kind of group. A law without a rule does not hold of the kind."""

from collections.abc import Mapping

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.incidents.rule import Check, Rule
from . import rules_consumer as consumer
from . import rules_share as share
from . import rules_streams as streams
from .law import Law

# fmt: off
_RULES: Mapping[Law, tuple[Rule | None, Rule | None, Rule | None]] = {
    # law                         consumer                    streams                    share
    Law.SEVERAL_HOLDERS:         (consumer.TWO_HOLDERS,       streams.TWO_HOLDERS,       None),
    Law.SEVERAL_TARGETS:         (consumer.TWO_TARGETS,       streams.TWO_TARGETS,       None),
    Law.EPOCH_ORDER:             (consumer.EPOCHS_FALL,       streams.EPOCHS_FALL,       share.EPOCHS_FALL),
    Law.EPOCH_DECREASED:         (consumer.EPOCHS_FALL,       streams.EPOCHS_FALL,       share.EPOCHS_FALL),
    Law.PREVIOUS_AHEAD:          (consumer.EPOCHS_FALL,       streams.EPOCHS_FALL,       share.EPOCHS_FALL),
    Law.STABLE_UNLIKE_TARGET:    (consumer.UNLIKE_TARGET,     streams.UNLIKE_TARGET,     None),
    Law.SHARED_UNLIKE_TARGET:    (None,                       None,                      share.UNLIKE_TARGET),
    Law.PENDING_UNLIKE_STATE:    (consumer.UNLIKE_STATE,      streams.UNLIKE_STATE,      None),
    Law.STATE_UNKNOWN:           (consumer.UNLIKE_STATE,      streams.UNLIKE_STATE,      None),
    Law.UNLIKE_BEFORE:           (consumer.UNLIKE_STATE,      streams.UNLIKE_STATE,      None),
    Law.UNRELEASED_HOLDS_ALL:    (consumer.WAITS_FOR_NOTHING, streams.WAITS_FOR_NOTHING, None),
    Law.STUCK_REVOKING:          (consumer.STUCK_REVOKING,    streams.STUCK_REVOKING,    None),
    Law.LAGGING:                 (consumer.LAGGING,           streams.LAGGING,           share.LAGGING),
    Law.WAITING_LONG:            (consumer.WAITING_LONG,      streams.WAITING_LONG,      None),
    Law.NO_TARGET:               (consumer.NO_TARGET,         streams.NO_TARGET,         share.NO_TARGET),
    Law.TARGET_INCOMPLETE:       (consumer.WITHOUT_OWNER,     streams.WITHOUT_OWNER,     share.WITHOUT_MEMBER),
    Law.COPIES_TOGETHER:         (None,                       streams.COPIES_TOGETHER,   None),
    Law.TARGET_COPIES_TOGETHER:  (None,                       streams.COPIES_TOGETHER,   None),
    Law.WARM_UP_ALONE:           (None,                       streams.WARM_UP_ALONE,     None),
}
# fmt: on
_COLUMNS = (("consumer", consumer.CONFIRM), ("streams", streams.CONFIRM), ("share", share.CONFIRM))


def _column(at: int, confirm: tuple[Check, ...]) -> Mapping[Law, Rule]:
    known = {law: of[at] for law, of in _RULES.items()}
    return {law: replace(rule, confirm=confirm) for law, rule in known.items() if rule is not None}


RULES: Mapping[str, Mapping[Law, Rule]] = {name: _column(at, confirm) for at, (name, confirm) in enumerate(_COLUMNS)}
"""By kind of group, the laws that hold of it, each with its rule."""


def each_once(rules: Mapping[Law, Rule]) -> tuple[Rule, ...]:
    """The rules of a kind of group: several laws may share one."""
    return tuple({rule.code: rule for rule in rules.values()}.values())
