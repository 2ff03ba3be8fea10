"""JSON Schemas of what the API answers beside the objects that the database stores."""

from typing import Any

from rebalance_monitor.streaming.core.costs import BY, FIGURES
from rebalance_monitor.streaming.core.model.lags import TRENDS
from rebalance_monitor.streaming.core.model.results import Certainty, Grade
from rebalance_monitor.streaming.stories.score import FATES, Foretold
from rebalance_monitor.streaming.stories.why import CODES
from .contract import SUMMARIES, Schema
from .expected import WHAT
from .fleet import STATES

COMPONENTS = "#/components/schemas/"
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
_SOURCE: Schema = {
    "type": "object",
    "required": ["topic", "partition", "offset"],
    "description": "The record.",
}
MOMENT: Schema = {"type": ["integer", "null"], "description": "Milliseconds since 1970, UTC."}


def object_of(properties: dict[str, Schema], **more: Any) -> Schema:
    return {
        "type": "object",
        "required": list(properties),
        "properties": properties,
        "additionalProperties": False,
        **more,
    }


def ref(name: str) -> Schema:
    return {"$ref": f"{COMPONENTS}{name}"}


def array_of(items: Schema, says: str = "") -> Schema:
    return {"type": "array", "items": items, **({"description": says} if says else {})}


def or_null(schema: Schema, says: str = "") -> Schema:
    return {"oneOf": [schema, {"type": "null"}], **({"description": says} if says else {})}


_GROUP = {
    "cluster": TEXT,
    "group": TEXT,
    "team": TEXT,
    "state": {
        "enum": [*STATES],
        "description": "The worst that can be said. "
        + "; ".join(f"{state}: {meaning}" for state, meaning in STATES.items())
        + ".",
    },
    "status": {
        "enum": ["Stable", "Empty", "Dead", "Unknown", "Assigning", "Reconciling", "NotReady", ""],
        "description": "With members, without, or deleted, by the latest record; Unknown with members, once the group "
        "goes on under another protocol than the classic one, and where the monitor failed at the record; "
        "empty where not known.",
    },
    "status_ms": {**MOMENT, "description": "When the record that shows `status` was written; null where not known."},
    "protocol_type": TEXT,
    "protocol": {"type": ["string", "null"]},
    "incarnation": COUNT,
    "generation": {
        "type": ["integer", "null"],
        "description": "Null, like grade and at_ms, for a group with an incident of which no generation is known.",
    },
    "members": COUNT,
    "unassigned": COUNT,
    "delay_until_ms": MOMENT,
    "grade": {"enum": [*(grade.value for grade in Grade), None]},
    "at_ms": MOMENT,
    "incidents": {**COUNT, "description": "Open ones."},
    "expected": array_of(
        object_of(
            {
                "what": {"enum": [*WHAT], "description": "As `groups` of the configuration calls it."},
                "limit": {**COUNT, "description": "What is configured."},
                "has": {
                    "type": ["integer", "null"],
                    "description": "How many members, or how old the first unread record is (s); null: not known, and "
                    "of rebalances.",
                },
                "met": {"type": ["boolean", "null"], "description": "Null: nobody can tell."},
                "since_ms": {**MOMENT, "description": "Since when it is not met; null where no incident is open."},
            }
        ),
        "What the group's owner expects of it; empty in a capture and of a moment before.",
    ),
    "lag": or_null(
        object_of(
            {
                "records": {"type": ["integer", "null"], "description": "Null: not known."},
                "lag_ms": {
                    "type": ["integer", "null"],
                    "description": "How long ago the first record not read yet was written; null: not known.",
                },
                "at_least": {"type": "boolean", "description": "lag_ms is a lower bound."},
                "trend": {"enum": [*TRENDS, None], "description": "Null: not known."},
                "answered_ms": {"type": "integer", "description": "When brokers answered."},
            }
        ),
        "By the last sample of its offsets; null where brokers were never asked.",
    ),
}
_INSTANT: Schema = {"type": "integer", "description": "Milliseconds since 1970, UTC."}
_BARS: Schema = array_of(
    object_of(
        {
            "from_ms": _INSTANT,
            "until_ms": _INSTANT,
            "names": {
                "type": ["array", "null"],
                "items": TEXT,
                "description": "Connectors, tasks or partitions; null where the member's bytes could not be read.",
            },
            "twice": array_of(TEXT, "Those that another member was given, too."),
            "sure": {"type": "boolean", "description": "False: it ended at an unknown moment, at the latest then."},
        }
    )
)
_LANES = {
    "from_ms": _INSTANT,
    "until_ms": _INSTANT,
    "targets": {"type": "boolean", "description": "A coordinator computed them; members come to them by themselves."},
    "lanes": array_of(
        object_of(
            {
                "member": {"type": "string", "description": "Its worker, its `group.instance.id`, or its member id."},
                "client": {"type": ["string", "null"], "description": "Where the name does not say it."},
                "bars": {**_BARS, "description": "One behind the other; none while it is not in the group."},
            }
        )
    ),
    "nobody": {**_BARS, "description": "What was held before and is held again, or is called unassigned."},
    "rebalances": array_of(
        object_of(
            {
                "at_ms": _INSTANT,
                "generation": {"type": "integer"},
                "causes": array_of(TEXT),
                "grade": {"enum": [grade.value for grade in Grade]},
            }
        )
    ),
    "rolling_restarts": array_of(
        object_of({"from_ms": _INSTANT, "until_ms": _INSTANT, "members": COUNT, "rebalances": COUNT}),
        "As of a deployment: every dynamic member was replaced, once. Docs: why.md.",
    ),
    "left_out": array_of(TEXT, "What is not shown, in a sentence each."),
}
_WORDS: dict[str, Schema] = {word: {"type": "string", "description": says} for word, says in BY.items()}
_SUMS: dict[str, Schema] = {"rebalances": COUNT}
for _figure in FIGURES:
    _SUMS[_figure.name] = {
        "type": ["integer", "null"],
        "description": f"In {_figure.unit}; null: not known. At least so many where `{_figure.name}_of` is less than"
        f" `rebalances`. {_figure.says}",
    }
    _SUMS[f"{_figure.name}_of"] = {
        **COUNT, "description": f"Of how many rebalances all of it is known. Not of these: {_figure.unknown}",
    }  # fmt: skip
OWN: dict[str, Schema] = {
    "group": object_of(_GROUP),
    "lanes": object_of(_LANES),
    "group_detail": object_of(
        {
            "group": ref("group"),
            "generation": or_null(ref("generation")),
            "incidents": array_of(ref("incident")),
            "progress": or_null(
                ref("group_progress"),
                "How far its members had come when brokers were asked last; null if they never were.",
            ),
        }
    ),
    "incident": object_of(
        {
            "violation": ref("violation"),
            "attention": {
                "enum": ["notified", "muted", "suppressed", "over"],
                "description": "notified: people are notified of it; muted: a maintenance window suppresses that; "
                "suppressed: damped, absorbed or a report; over: resolved, and people were notified of that.",
            },
            "why": {"type": "string", "description": "Why it is muted or suppressed; else empty."},
            "until_ms": {**MOMENT, "description": "Until when it is muted or suppressed; null: nobody knows."},
            "lag": or_null(
                object_of(
                    {
                        "of": {
                            "enum": ["partitions", "members", "group"],
                            "description": "partitions: those that it names; members: what those hold that it "
                            "names; group: the whole group, as it names neither.",
                        },
                        "records": {"type": ["integer", "null"], "description": "Null: not known."},
                        "lag_ms": {
                            "type": ["integer", "null"],
                            "description": "The largest, as of the group; null: not known.",
                        },
                        "at_least": {"type": "boolean", "description": "lag_ms is a lower bound."},
                        "answered_ms": {"type": "integer", "description": "When brokers answered."},
                    }
                ),
                "What it leaves unread, by the last sample; null where that is not known or it is over.",
            ),
            "historic": {"type": "boolean", "description": "Found in records from before the monitor's start."},
            "judged_by": {"type": "string", "description": "Version of the monitor."},
        }
    ),
    "gap_detail": object_of(
        {
            "gap": ref("gap"),
            "found_at_ms": {"type": "integer", "description": "When the monitor stored it."},
            "acknowledged": or_null(
                object_of({"at_ms": {"type": "integer"}, "by": TEXT, "operator": {"type": ["string", "null"]}}),
                "When somebody took note, by which role of the database and which account of the "
                "machine; null while nobody has.",
            ),
        },
        description="Offsets from `from_offset` to `to_offset`, which is not among them. Both are the same where it "
        "is not known how much was lost (a topic was made anew).",
    ),
    "daily_summary": object_of(
        {
            "cluster": TEXT,
            "group": TEXT,
            "day": {"type": "string", "format": "date", "description": "In UTC."},
            "kind": {
                "enum": [*SUMMARIES],
                "description": "grade and cause: generations; moved: what workers, instances or members gained; idle_s:"
                " seconds in which connectors and tasks stood still; rule: incidents.",
            },
            "name": {"type": "string", "description": "Which grade, cause, kind of interruption or rule."},
            "count": COUNT,
        }
    ),
    "why": object_of(
        {
            "kind": {"const": "why"},
            "cluster": TEXT,
            "group": TEXT,
            "since_ms": MOMENT,
            "rebalances": {**COUNT, "description": "The sum of the reasons' counts and of `cannot_tell`."},
            "cannot_tell": {**COUNT, "description": "Rebalances of which the records do not tell why."},
            "repeats": {**COUNT, "description": "Records that repeat a generation: no rebalances."},
            "first_ms": {**MOMENT, "description": "Of the oldest rebalance that was looked at; null: there was none."},
            "last_ms": {**MOMENT, "description": "Of the newest."},
            "all": {"type": "boolean", "description": "False: there were more, and only the newest were looked at."},
            "sampled": {"type": "boolean", "description": "The group is polled, not read: rebalances may be missing."},
            "reasons": array_of(ref("why_reason"), "The most frequent first."),
            "predictions": array_of(
                ref("prediction_score"), "What was said with these generations, and what came of it: docs/why.md."
            ),
        }
    ),
    "prediction_score": object_of(
        {
            "what": {"enum": [*Foretold]},
            **{fate: {**COUNT, "description": text} for fate, text in FATES.items()},
            "longest_after_ms": {
                "type": ["integer", "null"],
                "description": "Of the hits, the longest time from the predicted moment to the record; null: no hit.",
            },
        }
    ),
    "why_reason": object_of(
        {
            "code": {"enum": [*CODES], "description": "docs/why.md has the criterion of each."},
            "count": {**COUNT, "description": "Each rebalance counts for one reason."},
            "certainty": {"enum": [*Certainty], "description": "That of the least certain of these rebalances."},
            "text": {"type": "string", "description": "For people."},
            "names": array_of(TEXT, "Whom it is about, the first few."),
            "evidence": array_of(
                object_of({"generation": COUNT, "at_ms": {"type": "integer"}, "source": _SOURCE}),
                "The newest of its rebalances.",
            ),
        }
    ),
    "at_once": object_of(
        {
            "kind": {"const": "at_once"},
            "since_ms": MOMENT,
            "all": {"type": "boolean", "description": "False: there was more than is looked at."},
            "events": array_of(ref("at_once_event")),
        }
    ),
    "at_once_event": object_of(
        {
            "cluster": TEXT,
            "from_ms": {"type": "integer"},
            "until_ms": {"type": "integer"},
            "groups": array_of(TEXT),
            "rebalances": COUNT,
            "certainty": {
                "enum": ["likely"],
                "description": "What is shared is certain; that it is the cause, likely.",
            },
            "shared": array_of(
                object_of(
                    {
                        "what": {"enum": ["host", "client_id", "partition"]},
                        "name": TEXT,
                        "groups": {**COUNT, "description": "Groups that rebalanced then; all of them share it."},
                        "others": {**COUNT, "description": "Groups that did not."},
                        "others_have": {**COUNT, "description": "How many of these have it, too."},
                        "elected_anew": {
                            **COUNT,
                            "description": "Of a partition: for so many of `groups` its leader, their coordinator, was"
                            " elected anew since the record before.",
                        },
                        "text": {"type": "string", "description": "For people."},
                    }
                )
            ),
            "evidence": array_of(
                object_of({"group": TEXT, "generation": COUNT, "at_ms": {"type": "integer"}, "source": _SOURCE})
            ),
        }
    ),
    "costs": object_of(
        {
            "since": {"type": ["string", "null"], "description": "The first day; null: as far back as is known."},
            "until": {"type": ["string", "null"], "description": "The last day; null: until now."},
            "by": array_of({"enum": [*BY]}, "A group has its cluster before it."),
            "total": object_of(_SUMS),
            "lines": array_of(
                {
                    **object_of({**_WORDS, **_SUMS}, description="With the keys that `by` names, in their order."),
                    "required": [*_SUMS],
                }
            ),
            "being_cut": array_of(
                {"type": "string", "format": "date"},
                "Days that are in no sum: they leave the tables now, and their sums come in a moment.",
            ),
        }
    ),
    "health": object_of(
        {
            "ready": {"type": "boolean"},
            "role": {"enum": ["active", "standby"], "description": "standby: another job judges the clusters."},
            "database": {"type": "string", "description": "ok, or why it can't be read."},
            "clusters": {"type": "object", "additionalProperties": TEXT, "description": "What each waits for."},
            "degraded": {"type": "object", "additionalProperties": array_of(TEXT)},
        }
    ),
    "change": object_of(
        {
            "groups": array_of(object_of({"cluster": TEXT, "group": TEXT})),
        }
    ),
    "problem": object_of({"error": {"type": "string", "description": "One sentence."}}),
    "openapi": {"type": "object", "required": ["openapi", "info", "paths"]},
}
