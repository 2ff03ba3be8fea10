"""Which names a Kafka topic may have.

Source: `Topic.validate` and `Topic.isValid` in org.apache.kafka.common.internals.Topic, the same in every release.
A broker that is asked for another name answers INVALID_TOPIC_EXCEPTION.
"""

import re

LONGEST = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def why_illegal(name: str) -> str | None:
    """Why no topic can have this name, in a few words; None for a legal name."""
    if not name:
        return "an empty name"
    if name in (".", ".."):
        return f"{name!r} is not allowed as a name"
    if len(name) > LONGEST:
        return f"{len(name)} characters, {LONGEST} are allowed"
    # `fullmatch`, because `$` would accept a line feed at the end.
    if not _LEGAL.fullmatch(name):
        return "only the characters a-z, A-Z, 0-9, '.', '_' and '-' are allowed"
    return None
