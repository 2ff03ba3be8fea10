"""Names that commands take, for `--help`: what they stand for takes longer to import than the help to print."""

FAMILIES = (
    "broker-assign",
    "connect-eager",
    "connect-incremental-rounds",
    "connect-java21",
    "consumer-assign",
    "streams-assign",
    "streams-full",
    "streams-validate",
)
"""Families of cases that `plan` solves (`streaming.calculator.FAMILIES`)."""

KINDS = (
    "offsets",
    "connect-config",
    "connect-status",
    "connect-worker-state",
    "connect-static-worker-state",
    "connect-assignment",
    "consumer-subscription",
    "consumer-assignment",
    "streams-subscription",
    "streams-assignment",
)
"""Kinds of records and payloads that `decode` shows (`streaming.core.reading.shown`)."""

SHELLS = ("bash", "zsh", "tcsh")
"""Shells that `completion` knows."""
