"""Every route of the JSON API, declared once: routing, OpenAPI, docs/api.md and the tests read these values.

Groups, topics and ids are query parameters: a group's id may hold any character, and a slash in a path is a separator
for every proxy on the way.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from rebalance_monitor.streaming.core.costs import BY
from rebalance_monitor.streaming.core.model.results import AGREEMENTS, Grade
from rebalance_monitor.streaming.stories.whatif.usual_advice import MOST_HELD

PREFIX = "/api/v1"
MOST = 500
MOST_LINES = 5_000
"""Of one answer about costs."""
USUAL = 100

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One query parameter. `schema` is JSON Schema; integers are checked against its bounds."""

    name: str
    description: str
    required: bool = False
    schema: Schema = field(default_factory=lambda: {"type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """GET `path`. `answer` names a schema of `streaming.web.openapi`; `missing`: what a 404 says; `ends`: the list
    says before when only summaries are left."""

    name: str
    summary: str
    answer: str
    parameters: tuple[Parameter, ...] = ()
    media: Literal["application/json", "text/event-stream"] = "application/json"
    missing: str = ""
    ending: str = ""
    ends: bool = False

    @property
    def path(self) -> str:
        """The address, without parameters."""
        return f"{PREFIX}/{self.name}{self.ending}"

    @property
    def paged(self) -> bool:
        return CURSOR in self.parameters


CLUSTER = Parameter(name="cluster", description="Only this cluster.")
GROUP = Parameter(name="group", description="Only this group (of the given cluster, where one is given).")
THE_CLUSTER = Parameter(name="cluster", description="The cluster's name.", required=True)
THE_GROUP = Parameter(name="group", description="The group's id.", required=True)
LIMIT = Parameter(
    name="limit",
    description="At most so many items.",
    schema={"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL},
)
CURSOR = Parameter(name="cursor", description="`next` of the page before.")
PAGING = (LIMIT, CURSOR)
_MOMENT: Schema = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
SUMMARIES = ("grade", "cause", "moved", "idle_s", "rule")
"""What is counted of days that were cut."""


def _between(since: str, until: str, *, required: bool = False) -> tuple[Parameter, Parameter]:
    """Two moments, with what each means."""
    return (
        Parameter(name="since_ms", description=since, required=required, schema=_MOMENT),
        Parameter(name="until_ms", description=until, required=required, schema=_MOMENT),
    )


ROUTES: tuple[Route, ...] = (
    Route(
        name="groups",
        summary="Every group with a generation or an open incident, by cluster and name.",
        answer="group",
        parameters=(
            CLUSTER,
            Parameter(name="q", description="Only groups whose id contains this text, whatever the case."),
            *PAGING,
        ),
    ),
    Route(
        name="group",
        summary="One group: its latest generation and its open incidents.",
        answer="group_detail",
        parameters=(THE_CLUSTER, THE_GROUP),
        missing="no such group is known",
    ),
    Route(
        name="generations",
        summary="Judged generations, the newest first.",
        answer="generation",
        parameters=(
            CLUSTER,
            GROUP,
            Parameter(
                name="grade",
                description="Only verdicts of this grade.",
                schema={"type": "string", "enum": [grade.value for grade in Grade]},
            ),
            *_between("Only those at this moment or later.", "Only those at this moment or before."),
            *PAGING,
        ),
        ends=True,
    ),
    Route(
        name="generation",
        summary="One generation, by the coordinates of its record.",
        answer="generation",
        parameters=(
            THE_CLUSTER,
            Parameter(name="topic", description="The record's topic.", schema={"type": "string", "default": ""}),
            Parameter(
                name="partition",
                description="The record's partition.",
                required=True,
                schema={"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
            ),
            Parameter(
                name="offset",
                description="The record's offset.",
                required=True,
                schema={"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
            ),
        ),
        missing="no such generation is known",
    ),
    Route(
        name="lanes",
        summary="What each member of a group was given, from when until when, by its generations between two moments.",
        answer="lanes",
        parameters=(
            THE_CLUSTER,
            THE_GROUP,
            *_between("From this moment on.", "Until just before this one.", required=True),
        ),
        missing="no such group is known",
    ),
    Route(
        name="incidents",
        summary="Incidents, the newest first, and whether people are notified of them.",
        answer="incident",
        parameters=(
            CLUSTER,
            GROUP,
            Parameter(
                name="state",
                description="Open ones (not over, or people are still notified), resolved ones, or all.",
                schema={"type": "string", "enum": ["open", "resolved", "all"], "default": "open"},
            ),
            *_between(
                "Only those that were not over before this moment.", "Only those that opened at this moment or before."
            ),
            *PAGING,
        ),
    ),
    Route(
        name="incident_parts",
        summary="Findings that incidents are made of, open and over, with all their subjects; the earliest first.",
        answer="incident_part",
        parameters=(
            CLUSTER,
            GROUP,
            Parameter(name="incident_id", description="Only those of this incident."),
            *PAGING,
        ),
    ),
    Route(
        name="connectors_and_tasks",
        summary="Connectors and tasks of Connect groups, three ways: who has each, who should, what the status says.",
        answer="connector_or_task",
        parameters=(
            CLUSTER,
            GROUP,
            Parameter(
                name="agreement",
                description="Only those with this agreement; without it all but `gone`.",
                schema={"type": "string", "enum": [*AGREEMENTS]},
            ),
            *PAGING,
        ),
    ),
    Route(
        name="gaps",
        summary="Ranges of offsets that were gone before they could be read, the newest first.",
        answer="gap_detail",
        parameters=(
            CLUSTER,
            Parameter(name="topic", description="Only this topic."),
            Parameter(
                name="group",
                description="Only gaps of this group's topics, and of partitions with a record of it "
                "(in the given cluster, where one is given).",
            ),
            Parameter(
                name="state",
                description="Open ones (nobody has acknowledged them), acknowledged ones, or all.",
                schema={"type": "string", "enum": ["open", "acknowledged", "all"], "default": "open"},
            ),
            *PAGING,
        ),
    ),
    Route(
        name="summaries",
        summary="What is left of days that were cut, and of incidents that are over: counts by group, the newest day"
        " first.",
        answer="daily_summary",
        parameters=(
            CLUSTER,
            GROUP,
            Parameter(
                name="kind",
                description="Only counts of this kind.",
                schema={"type": "string", "enum": [*SUMMARIES]},
            ),
            *PAGING,
        ),
    ),
    Route(
        name="why",
        summary="Why a group rebalanced: the causes of its rebalances as a ranking, each with evidence.",
        answer="why",
        parameters=(
            THE_CLUSTER,
            THE_GROUP,
            *_between("From this moment on; else seven days before.", "Until this moment; else now."),
        ),
        missing="no such group is known",
    ),
    Route(
        name="advice",
        summary="What a group's past rebalances would have been under each setting that needs no value. Looked at are"
        f" the newest generations in which members hold {MOST_HELD:,} connectors, tasks and partitions all together.",
        answer="advice",
        parameters=(
            THE_CLUSTER,
            THE_GROUP,
            *_between("From this moment on; else seven days before.", "Until this moment; else now."),
        ),
        missing="no such group is known",
    ),
    Route(
        name="at_once",
        summary="Rebalances of many groups within seconds, with what all of these groups share; the newest first.",
        answer="at_once",
        parameters=(
            CLUSTER,
            *_between("From this moment on; else one hour before.", "Until this moment; else now."),
        ),
    ),
    Route(
        name="costs",
        summary="What rebalances cost, in sums over whole days (UTC), as far back as summaries are kept.",
        answer="costs",
        parameters=(
            CLUSTER,
            GROUP,
            Parameter(
                name="by",
                description=f"What the sums are split by, separated by commas: {', '.join(BY)}.",
                schema={"type": "string", "default": "cause"},
            ),
            *_between("Only of the day of this moment and later.", "Only of the day of this moment and before."),
        ),
    ),
    Route(
        name="health",
        summary="Whether the monitor is caught up, and whether its database answers.",
        answer="health",
    ),
    Route(
        name="events",
        summary="Server-sent events: `changed` with the groups of which something new is known; "
        "`health` when the monitor's own state has changed; `beat` every five seconds with this state.",
        answer="change",
        media="text/event-stream",
    ),
    Route(
        name="openapi",
        ending=".json",
        summary="This description.",
        answer="openapi",
    ),
)  # fmt: skip
