"""Every rule that can be broken, declared once: code, title, usual severity, and the Kafka issues it resembles.

Codes are the numbers of the law in the description of the protocol: CONNECT-I… hold within one record, CONNECT-K…
across records, CONNECT-S… for static assignments; GROUP-G… hold of groups of several kinds; MONITOR-E… is about the
monitor itself. One code has one title; a title is shared where several laws look at the same harm from different sides
(`duplicate_active`, `imbalance`).
"""

from .lifecycles import REGISTRY

CATALOGUE = REGISTRY.catalogue
RULES = CATALOGUE.rules
