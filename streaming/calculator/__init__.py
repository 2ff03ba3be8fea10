"""The calculator: cases in, what Kafka's own assignors would answer out. One solver per family."""

from collections.abc import Callable, Mapping
from typing import Any

from . import broker as broker
from . import connect as connect
from . import consumer as consumer
from . import streams_assign as streams_assign
from . import streams_full as streams_full
from . import streams_validate as streams_validate
from .own_assignors import OwnAssignors as OwnAssignors

Solve = Callable[[dict[str, Any]], dict[str, Any]]
SolveWith = Callable[[dict[str, Any], OwnAssignors], dict[str, Any]]

FAMILIES: Mapping[str, Solve] = {
    "connect-eager": connect.solve,
    "connect-incremental-rounds": connect.solve,
    "connect-java21": connect.solve,
    "consumer-assign": consumer.solve,
    "streams-assign": streams_assign.solve,
    "broker-assign": broker.solve,
    "streams-full": streams_full.solve,
    "streams-validate": streams_validate.solve,
}
WITH_PLUG_INS: Mapping[str, SolveWith] = {"streams-assign": streams_assign.solve, "streams-full": streams_full.solve}
"""Families whose cases may belong to an application with a task assignor of its own."""
