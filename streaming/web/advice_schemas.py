"""JSON Schemas of what the API answers about settings: what `rebalance-monitor advise -o json` prints."""

from .answer_schemas import COUNT, MOMENT, TEXT, array_of, object_of, or_null, ref
from .contract import Schema

_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_MAYBE_COUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
_RANGE: Schema = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
ADVICE: dict[str, Schema] = {
    "advice": object_of(
        {
            "kind": {"const": "usual_advice"},
            "cluster": TEXT,
            "group": TEXT,
            "since_ms": MOMENT,
            "generations": {**COUNT, "description": "So many were looked at: the newest."},
            "all": {"type": "boolean", "description": "False: there were more."},
            "settings": array_of(
                ref("setting_advice"),
                "What `rebalance-monitor advise -o json` prints for each: docs/advise.md. Of Connect"
                " the newest release, or `sessioned` instead of eager; of consumers static members, and from an eager"
                " assignor the others; of Streams without standbys one; else none.",
            ),
        }
    ),
    "setting_advice": object_of(
        {
            "kind": {"const": "advice"},
            "cluster": TEXT,
            "group": TEXT,
            "assignor": _MAYBE_TEXT,
            "static_members": {"type": "boolean"},
            "session_timeout_ms": _MAYBE_COUNT,
            "release": _MAYBE_TEXT,
            "max_delay_ms": _MAYBE_COUNT,
            "protocol": _MAYBE_TEXT,
            "workers": _MAYBE_COUNT,
            "members": _MAYBE_COUNT,
            "standbys": _MAYBE_COUNT,
            "warm_ups": _MAYBE_COUNT,
            "acceptable_lag": _MAYBE_COUNT,
            "answer": or_null(ref("computed_advice")),
            "why_not": {**_MAYBE_TEXT, "description": "Why nothing could be computed; null where there is an answer."},
            "restarts": {"type": "null", "description": "Of `advise --steps` alone."},
        },
        description="Null: that stays as it is.",
    ),
    "computed_advice": object_of(
        {
            "title": {"type": "string", "description": "The setting, for people."},
            "words": {"type": "object", "additionalProperties": TEXT, "description": "Of each figure, for people."},
            "recorded": {
                "type": "object",
                "additionalProperties": COUNT,
                "description": "By figure, of the rebalances that could be computed; docs/advise.md has what each is.",
            },
            "computed": {
                "type": "object",
                "additionalProperties": _RANGE,
                "description": "The same figures under the setting: the least and the most.",
            },
            "left_out": {
                "type": "object",
                "additionalProperties": COUNT,
                "description": "Rebalances that could not be computed, by why.",
            },
            "first": {
                "type": ["object", "null"],
                "additionalProperties": _RANGE,
                "description": "What the change itself moves and stops now; null where that is not known.",
            },
            "presumed": {"type": "string", "description": "For people."},
            "diff": array_of(TEXT, "What to change, a line each, under what it is for."),
            "already": {"type": "boolean", "description": "The group has this setting now."},
            "idle": {"type": "string", "description": "How many would have nothing to do; empty if nobody would."},
            "all": {"type": "boolean", "description": "False: there were more generations."},
            "generations": {**COUNT, "description": "So many were looked at."},
        }
    ),
}
