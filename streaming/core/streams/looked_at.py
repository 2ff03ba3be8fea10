"""What a plug-in may have looked at, beside the names of fields of `AssignmentConfigs`: lags, racks of the partitions
that are read, racks of partitions that are changelogs alone.

The process of a plug-in starts often and needs no more of the core than these names: nothing is imported here.
"""

LAGS, RACKS, CHANGELOG_RACKS = "lags", "racks", "changelog racks"
ALL_RACKS = frozenset({RACKS, CHANGELOG_RACKS})
