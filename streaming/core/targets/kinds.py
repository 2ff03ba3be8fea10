"""The kinds of groups with targets: KIP-848 consumer groups, Streams groups (KIP-1071), share groups (KIP-932)."""

from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.model.results import Verdict
from rebalance_monitor.streaming.core.model.settings import NOTHING_SAID
from . import assigning, holdings, shown, tasks_verdict, verdict
from .kind import UNSURE, Judge, Kind, KindWords, lacking_shared, lacking_tasks
from .law import Law
from .member import StatedPart
from .operation import Computed
from .rules import RULES
from .topics import NameOf
from .verdict import Assigning


def judged_by(assigning: Assigning) -> Judge:
    """Verdicts on targets whose assignor shares out partitions."""

    def judge(view: GroupView, target: Computed, at_ms: int, name_of: NameOf) -> Verdict:
        return verdict.judge(assigning, target, view.knowledge.topics, at_ms, name_of)

    return judge


def _judge_tasks(view: GroupView, target: Computed, at_ms: int, _name_of: NameOf) -> Verdict:
    settings = view.settings.streams.get(view.group, NOTHING_SAID)
    return tasks_verdict.published(target, settings, view.knowledge.topics, at_ms)


CONSUMER = Kind(
    name="consumer",
    parts={
        3: StatedPart.EPOCH,
        4: StatedPart.METADATA,
        5: StatedPart.MEMBER,
        6: StatedPart.ASSIGNED,
        7: StatedPart.TARGET,
        8: StatedPart.CURRENT,
        16: StatedPart.REGEX,
    },
    rules=RULES["consumer"],
    judge=judged_by(assigning.CONSUMERS),
    converted=assigning.converted,
    converts=True,
    holdings=holdings.held_partitions,
)
STREAMS = Kind(
    name="streams",
    parts={
        17: StatedPart.EPOCH,
        19: StatedPart.MEMBER,
        20: StatedPart.ASSIGNED,
        21: StatedPart.TARGET,
        22: StatedPart.CURRENT,
        23: StatedPart.TOPOLOGY,
    },
    rules=RULES["streams"],
    words=KindWords(things="tasks", state_end="TASKS"),
    waits_for_topics=True,
    first_target_ms=3_000,
    judge=_judge_tasks,
    converts=True,
    lacking=lacking_tasks,
    holdings=holdings.read_by_tasks,
    detail=shown.detail_of,
)
"""Types 18 and 24 are written by no release up to 4.3. A broker waits 3 s by default for more members of a group that
was empty (4.2)."""
_EPOCHS = (Law.EPOCH_ORDER, Law.EPOCH_DECREASED, Law.PREVIOUS_AHEAD)
SHARE = Kind(
    name="share",
    parts={
        9: StatedPart.METADATA,
        10: StatedPart.MEMBER,
        11: StatedPart.EPOCH,
        12: StatedPart.ASSIGNED,
        13: StatedPart.TARGET,
        14: StatedPart.CURRENT,
        15: StatedPart.SHARE_STATES,
    },
    rules=RULES["share"],
    unsure=UNSURE | frozenset(_EPOCHS),
    words=KindWords(
        of_member=dict.fromkeys(
            _EPOCHS, "is at epoch {epoch}, with a target of epoch {target}: it went back or is ahead"
        ),
        of_group=dict.fromkeys(
            _EPOCHS, "has a target of epoch {target} at group epoch {group_epoch}: one went back or is ahead"
        ),
    ),
    exclusive=False,
    lacking=lacking_shared,
    judge=judged_by(assigning.SHARES),
)
