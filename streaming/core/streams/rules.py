"""Every rule about Streams groups."""

from rebalance_monitor.streaming.core.streams.catalogue import RECORD_RULES
from rebalance_monitor.streaming.core.streams.catalogue_across import ACROSS_RULES
from rebalance_monitor.streaming.core.streams.catalogue_placement import PLACEMENT_RULES

RULES = tuple(sorted((*RECORD_RULES, *PLACEMENT_RULES, *ACROSS_RULES), key=lambda rule: rule.code))
