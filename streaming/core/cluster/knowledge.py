"""`Knowledge`: what is known of a cluster beside its groups. Carried by the batch, read by the lifecycles.

It grows by samples, each with the interval in which it was taken. The batch that first uses a sample commits it, so a
batch that is repeated from the store knows what was known before.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from .changelogs import EndsOfGroups
from .group_states import NEVER_POLLED, GroupStates
from .progress import NO_PROGRESS_KNOWN, ProgressOfGroups
from .shown_groups import NOTHING_SHOWN, ShownGroups
from .topics import NO_SAMPLES, TopicHistory, TopicMetadata, history_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """`topics`: what brokers said of topics, and when; `groups`: which groups rebalance; `progress`: how far some
    groups have come; `changelogs`: where those of Streams applications end. Empty where nobody asks.

    `asked`: somebody asks for topics, so a later sample may be waited for. `shown`: until when groups
    that are polled surely were as they were polled last.
    """

    topics: TopicHistory = NO_SAMPLES
    groups: GroupStates = NEVER_POLLED
    progress: ProgressOfGroups = NO_PROGRESS_KNOWN
    changelogs: EndsOfGroups = field(default_factory=dict)
    asked: bool = False
    shown: ShownGroups = NOTHING_SHOWN


NOTHING_KNOWN = Knowledge()


def knowledge_of(metadata: Iterable[TopicMetadata]) -> Knowledge:
    """Of a capture's samples, which are given in time order."""
    return Knowledge(topics=history_of(metadata))
