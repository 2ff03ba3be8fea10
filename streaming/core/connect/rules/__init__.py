"""Laws of Connect groups, and all their rules."""

from . import catalogue_across, catalogue_record, catalogue_static, catalogue_status

RULES = (*catalogue_record.RULES, *catalogue_static.RULES, *catalogue_across.RULES, *catalogue_status.RULES)
