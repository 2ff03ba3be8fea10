"""Every suite, in the order in which a report shows them."""

from streaming.audit.contract import Suite
from streaming.audit.generations import BURSTS, GENERATIONS
from streaming.audit.incidents import INCIDENT_PARTS, INCIDENTS, OUTBOX, OUTBOX_SENT
from streaming.audit.members import ASSIGNMENTS, MEMBERS
from streaming.audit.reading import GAPS, MAINTENANCE, POSITIONS, UNDECODABLE, UNDECODABLE_COUNTS
from streaming.audit.standing import GROUPS, JOBS, OTHER_GROUPS

SUITES: tuple[Suite, ...] = (
    GENERATIONS, MEMBERS, ASSIGNMENTS, BURSTS, INCIDENTS, INCIDENT_PARTS, OUTBOX, OUTBOX_SENT, JOBS, GROUPS,
    OTHER_GROUPS, POSITIONS, GAPS, UNDECODABLE, UNDECODABLE_COUNTS, MAINTENANCE,
)  # fmt: skip
