"""Every suite, in the order in which a report shows them."""

from rebalance_monitor.streaming.audit.contract import Suite
from rebalance_monitor.streaming.audit.generations import BURSTS, GENERATIONS
from rebalance_monitor.streaming.audit.incidents import INCIDENT_PARTS, INCIDENTS, OUTBOX, OUTBOX_SENT
from rebalance_monitor.streaming.audit.members import ASSIGNMENTS, MEMBERS
from rebalance_monitor.streaming.audit.reading import GAPS, MAINTENANCE, POSITIONS, UNDECODABLE, UNDECODABLE_COUNTS
from rebalance_monitor.streaming.audit.standing import CONNECTORS_AND_TASKS, GROUP_PROGRESS, GROUPS, OTHER_GROUPS

SUITES: tuple[Suite, ...] = (
    GENERATIONS, MEMBERS, ASSIGNMENTS, BURSTS, INCIDENTS, INCIDENT_PARTS, OUTBOX, OUTBOX_SENT,
    CONNECTORS_AND_TASKS, GROUPS, GROUP_PROGRESS, OTHER_GROUPS, POSITIONS, GAPS, UNDECODABLE, UNDECODABLE_COUNTS,
    MAINTENANCE,
)  # fmt: skip
