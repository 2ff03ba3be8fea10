"""How a member of each client library is started."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import go
from lab.errors import LabError
from lab.foreign.member import LIBRARIES
from lab.paths import BUILD

FRANZ_GO = "franz-go"
SOURCE = Path(__file__).parent / "franz_go"
PROGRAM = BUILD / "foreign" / FRANZ_GO
EAGER, COOPERATIVE = ("range", "roundrobin", "sticky"), "cooperative-sticky"
ASSIGNORS: Mapping[str, Sequence[str]] = {
    "librdkafka": ("range", "roundrobin", COOPERATIVE),  # it has no eager sticky assignor
    "kafka-python": (*EAGER, COOPERATIVE),
    FRANZ_GO: (*EAGER, COOPERATIVE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What a member is told. `client`: its client id, "" for the library's own."""

    library: str
    group: str
    assignor: str
    topics: Sequence[str]
    client: str = ""
    instance: str = ""


def command(bootstrap: str, member: Membership) -> list[str]:
    """The program of one member."""
    same = {
        "bootstrap": bootstrap,
        "group": member.group,
        "assignor": member.assignor,
        "topics": ",".join(member.topics),
        "client": member.client,
        "instance": member.instance,
    }
    if member.library == FRANZ_GO:
        return [str(PROGRAM), *(word for name, value in same.items() for word in (f"-{name}", value))]
    words = [f"--{name}={value}" for name, value in {"library": member.library, **same}.items()]
    return [sys.executable, "-m", "lab.foreign.member", *words]


def require(libraries: Sequence[str]) -> None:
    """Make what the libraries need; LabError if that cannot be had."""
    unknown = [one for one in libraries if one not in ASSIGNORS]
    if unknown:
        raise LabError(f"{unknown[0]} is no library of this lab; there are {', '.join([*LIBRARIES, FRANZ_GO])}")
    if FRANZ_GO not in libraries:
        return
    go.build("the member of franz-go", SOURCE, ".", PROGRAM, "leave it out with --libraries librdkafka kafka-python")
