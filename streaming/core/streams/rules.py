"""All rules of Streams groups of the classic protocol."""

from .catalogue import RECORD_RULES
from .catalogue_across import ACROSS_RULES
from .catalogue_placement import PLACEMENT_RULES

RULES = tuple(sorted((*RECORD_RULES, *PLACEMENT_RULES, *ACROSS_RULES), key=lambda rule: rule.code))
