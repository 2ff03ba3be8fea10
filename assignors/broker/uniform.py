"""The `uniform` assignor of consumer groups: which algorithm a release runs, and whether racks count.

release      all members subscribe to the same names   subscriptions differ
3.7          racks, sorted partitions                  racks, sticky moves of single partitions
3.8, 3.9     quotas, extras to the first members       sticky moves of single partitions
since 4.0    quotas, extras to members that hold more  balance per topic, at most 16 rounds
"""

from . import uniform_before_4_0, uniform_heterogeneous, uniform_homogeneous, uniform_racks
from .model import JAVA, NEWEST, BrokerGroup, BrokerResult, Outcome, Release

_FIRST_WITHOUT_RACKS: Release = (3, 8)
_FIRST_PER_TOPIC: Release = (4, 0)


def assign(group: BrokerGroup, *, release: Release = NEWEST, java_version: int = JAVA) -> Outcome:
    """The new targets that a coordinator of `release` computes."""
    if not group.members:
        return BrokerResult(shares={})
    if release < _FIRST_WITHOUT_RACKS:
        return uniform_racks.assign(group, java_version=java_version)
    if group.homogeneous:
        keep_extras = release >= _FIRST_PER_TOPIC
        return uniform_homogeneous.assign(group, keep_extras=keep_extras, java_version=java_version)
    if release < _FIRST_PER_TOPIC:
        return uniform_before_4_0.assign(group, java_version=java_version)
    return uniform_heterogeneous.assign(group, java_version=java_version)
