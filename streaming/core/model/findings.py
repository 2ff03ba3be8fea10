"""What is found wrong: incidents, the findings that they are made of, and what these rest on."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from .published import HIDDEN, Says
from .subjects import Source, Subject


class Severity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class AlertSeverity(StrEnum):
    """How loudly people are told: critical pages, a warning can wait until working hours, info is for reports."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Certainty(StrEnum):
    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Coordinates of a record, or a sentence."""

    source: Source | None = None
    text: str | None = None

    def published(self) -> Source | Sentence:
        """The one or the other."""
        return self.source if self.source is not None else Sentence(self.text or "")

    @classmethod
    def of_published(cls, shown: Source | Sentence) -> "Evidence":
        return cls(text=shown.text) if isinstance(shown, Sentence) else cls(source=shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One finding of an incident while it lasts, and its end: what one rule says of the same subjects.

    Subjects that heal and break again make another part, with another `opened_at_ms`. `firing` and `alert` are by the
    part's own damping, which counts from `live_ms` where the part was found in history and went on. `worst`: how bad
    and how sure it was at its worst, where it is better now; a part that is over says its worst. A stored part of a
    large incident has no message, evidence and next step any more: they were published when it opened.
    """

    KIND: ClassVar[str] = "incident_part"

    incident_id: str
    code: Annotated[str, Says("Code of the rule.")]
    severity: Annotated[Severity, Says("How bad it is; of a finding that is over, was.")]
    certainty: Annotated[Certainty, Says("How sure it is; of a finding that is over, was.")]
    opened_generation: int
    opened_at_ms: Annotated[int, Says("Timestamp of the record that it was found at.")]
    resolved_at_ms: Annotated[int | None, Says("When it was over; null while it is not.")] = None
    subjects: Annotated[tuple[Subject, ...], Says("What it is about, all of it.")]
    message: Annotated[str, Says("What is wrong, for people.")] = ""
    evidence: tuple[Evidence, ...] = ()
    next_step: Annotated[str, HIDDEN] = ""
    historic: Annotated[bool, HIDDEN] = False
    live_ms: Annotated[int | None, HIDDEN] = None
    alert: Annotated[AlertSeverity, HIDDEN] = AlertSeverity.INFO
    firing: Annotated[bool, HIDDEN] = False
    worst: Annotated[tuple[Severity, Certainty] | None, HIDDEN] = None

    @property
    def since_ms(self) -> int:
        """From when on it counts for people."""
        return self.opened_at_ms if self.live_ms is None else self.live_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """State of one violation after a transition.

    `opened`, `updated` and `resolved` say what is the case; `fired` and `ended` when people are told (after the rule's
    damping) and when that is over. `firing` is true between these two; `fired_at_ms` stays. `alert_name` is the rule's
    when it was opened and stays, whatever the catalogue calls it later.
    `next_step`: what to do first in this very group; empty where the rule's first step is meant.

    An incident has parts (`Part`). `subjects`, `message` and `evidence` are those of its open parts, bounded; after its
    end, those of all (`incidents.grouping.whole`). `findings` are its parts where somebody put them together.
    """

    KIND: ClassVar[str] = "violation"

    incident_id: str
    transition: Annotated[str, HIDDEN]
    rule: Annotated[str, Says("Title of the rule.", pattern="^[a-z][a-z0-9_]*$")]
    code: Annotated[str, Says("Code of the rule.", pattern="^[A-Z]+-[A-Z][0-9]+$")]
    severity: Annotated[Severity, Says("How bad it is.")]
    certainty: Annotated[Certainty, Says("How sure it is.")]
    cluster: str
    group: str
    opened_generation: Annotated[int, Says("The generation that it opened with; 0: none.")]
    opened_at_ms: Annotated[int, Says("Timestamp of the record that it opened with.")]
    resolved_at_ms: Annotated[int | None, Says("When it was over; null while it is not.")]
    subjects: Annotated[tuple[Subject, ...], Says("What it is about, bounded.")]
    message: Annotated[str, Says("What is wrong, for people.")]
    evidence: Annotated[tuple[Evidence, ...], Says("Records and sentences that it rests on.")]
    historic: Annotated[bool, HIDDEN] = False
    alert: Annotated[AlertSeverity, Says("How loudly people are notified; info: a report.")] = AlertSeverity.INFO
    firing: Annotated[bool, Says("Whether people are notified of it.")] = False
    fired_at_ms: Annotated[int | None, Says("Since when; stays when it is over.")] = None
    times_told: Annotated[int, Says("How often it has begun to fire.", name="times_notified")] = 0
    team: Annotated[str, Says("Whose group it is; empty where nobody says.")] = ""
    alert_name: Annotated[str, Says("Of the rule when the incident was opened.")] = ""
    next_step: Annotated[str, Says("What to do first in this group; empty where the rule's first step is meant.")] = ""
    parts: Annotated[
        int,
        Says(
            "Findings of the incident that are open; of one that is over, those that it ended with, and in `replay`"
            " all.",
            name="open_parts",
        ),
    ] = 1
    more: Annotated[
        int, Says("Connectors, tasks, partitions or members that `subjects` leaves out.", name="more_subjects")
    ] = 0
    cause: Annotated[tuple[Subject, ...], Says("What the rule names as the cause of all findings.")] = ()
    common: Annotated[
        tuple[Subject, ...], Says("The connector and the workers that all findings of the incident share.")
    ] = ()
    also: Annotated[
        tuple[str, ...],
        Says(
            "Rules whose incidents are part of this one's notification. `replay`, which notifies nobody, has none.",
            name="also_broken",
        ),
    ] = ()
    sampled: Annotated[
        bool,
        Says("The group is polled, not read: generations may be missing. Absent where it is read.", optional=True),
    ] = False
    findings: Annotated[
        tuple[Part, ...],
        Says(
            "In `replay`: every finding that the incident had, open and over, where there was more than one, or"
            " `subjects` leaves some out.",
            name="parts",
            optional=True,
        ),
    ] = ()
