"""Every rule that can be broken, declared once: code, title, usual severity, and the Kafka issues it resembles.

Codes are the numbers of the law in the description of the protocol: CONNECT-I… hold within one record, CONNECT-K…
across records, CONNECT-S… for static assignments; GROUP-G… hold of groups of several kinds; MONITOR-E… is about the
monitor itself. One code has one title; a title is shared where several laws look at the same harm from different sides
(`duplicate_active`, `imbalance`).

No lifecycle is imported here: whoever reads the texts of rules does not load what judges by them.
"""

from .connect import rules as connect
from .consumer import catalogue as consumer
from .incidents.catalogue import Catalogue
from .incidents.of_every_group import OF_EVERY_GROUP
from .streams import rules as streams
from .targets import rules as targets

RULES = (
    *connect.RULES,
    *streams.RULES,
    *consumer.RULES,
    *(rule for kind in ("share", "consumer", "streams") for rule in targets.each_once(targets.RULES[kind])),
    *OF_EVERY_GROUP,
)
"""In the order of `lifecycles.REGISTRY`."""
CATALOGUE = Catalogue(RULES)
