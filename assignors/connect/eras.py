"""The ways of working of Connect's incremental assignor through its releases, as named data.

Seven eras give different answers to the same inputs. Each is a span of releases (patches were back-ported, so most
have several) and a row of switches; the assignor reads the switches and never a release number.

    A0   2.3             one candidate gets all lost jobs; a window stays open although nothing is lost any more
    A1   2.4.0 to 2.5.0  such a window ends; `sessioned` exists
    A2   to 2.6.1, 2.7.0 the leader distrusts its memory if a generation lies between, takes duplicates away from all
                         holders, and hands jobs out at once if they vanished while nobody left
    A3a  to 3.2          all candidates share the lost jobs; revocation for balance down to the ceiling
    A3b  3.3             the ceiling counts a duplicated job once per holder; `sessioned` answers say version 2
    A4   to 3.5.1, 3.6.0 loads balanced within one of each other, back-off between revoking rounds
    A5   since           a maximum delay of 0 places lost jobs in the round that misses them

How A0 to A3b balance is told in `connect_before_3_4`. The rules were taken from what the published classes of these
releases answer; `make oracle RELEASE=2.3.1` plays random clusters on the classes of any release and compares bytes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

Release = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Releases from `since` to `until`, both included; `until` None means to this day."""

    since: str
    until: str | None

    def __contains__(self, release: Release) -> bool:
        return parse_release(self.since) <= release and (self.until is None or release <= parse_release(self.until))


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """One way of working. The switches name what the releases of this era do, with the issue that brought it."""

    name: str
    spans: tuple[Span, ...]
    speaks_sessioned: bool = True
    """Offers the protocol `sessioned` (KAFKA-8804)."""
    ends_idle_delay: bool = True
    """A window ends as soon as nothing is lost any more (KAFKA-9184)."""
    checks_generation: bool = True
    """Forgets its previous round unless the process completed exactly that round (KAFKA-9849)."""
    revokes_duplicates: bool = True
    """A job reported by several members is taken from all of them (KAFKA-9841)."""
    watches_departures: bool = True
    """Jobs that vanish while nobody left are handed out at once, without a window (KAFKA-9848)."""
    deals_to_all_candidates: bool = True
    """Lost jobs go round robin to all workers that were empty in the window, not to the first alone (KAFKA-10413)."""
    revokes_to_ceiling: bool = True
    """Before 3.4: every loaded member gives up what exceeds the ceiling, not one newcomer's share (KAFKA-10413)."""
    counts_every_holder: bool = False
    """Before 3.4: a job held twice counts twice in the total behind that ceiling."""
    regroups_members: bool = True
    """Copies the map of members into a second one before it iterates; shows only when hash buckets overflow."""
    balances_fully: bool = True
    """Balances all loads within one and backs off between revoking rounds (KAFKA-12495)."""
    places_at_once_without_delay: bool = True
    """With a maximum delay of 0, lost jobs are placed in the round that misses them (KAFKA-15693)."""
    sessioned_header: int = 2
    """Version in the assignments of a `sessioned` generation."""

    def alike(self, other: "Era", rests_on: Iterable[str]) -> bool:
        """Whether both eras have the same switches wherever an answer rests on them (`ConnectResult.rests_on`)."""
        return all(getattr(self, name, None) == getattr(other, name, None) for name in rests_on)

    @property
    def since(self) -> str:
        return self.spans[0].since

    @property
    def until(self) -> str | None:
        """Last release of this era, None for the present one."""
        return self.spans[-1].until


@lru_cache(maxsize=256)
def parse_release(release: str) -> Release:
    """Numbers of a release name; suffixes such as `-SNAPSHOT`, `-ccs` or `-rc1` do not count."""
    numbers = []
    for part in release.split("-")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    if not numbers:
        raise ValueError(f"not a Kafka release: {release!r}")
    return tuple(numbers + [0] * (3 - len(numbers)))


_OLDEST = {
    "checks_generation": False,
    "revokes_duplicates": False,
    "watches_departures": False,
}
_SINGLE_CANDIDATE = {"deals_to_all_candidates": False, "revokes_to_ceiling": False}
_ONE_SHOT = {"balances_fully": False, "places_at_once_without_delay": False}
_UNTIL_3_2: dict[str, bool] = {**_ONE_SHOT, "regroups_members": False}


def _era(name: str, *spans: tuple[str, str | None], sessioned_header: int = 2, **switches: bool) -> Era:
    return Era(
        name=name,
        spans=tuple(Span(since, until) for since, until in spans),
        sessioned_header=sessioned_header,
        **switches,
    )


ERAS: Mapping[str, Era] = MappingProxyType(
    {
        era.name: era
        for era in (
            _era(
                "A0",
                ("2.3.0", "2.3.1"),
                sessioned_header=1,
                speaks_sessioned=False,
                ends_idle_delay=False,
                **_OLDEST,
                **_SINGLE_CANDIDATE,
                **_UNTIL_3_2,
            ),
            _era("A1", ("2.4.0", "2.5.0"), sessioned_header=1, **_OLDEST, **_SINGLE_CANDIDATE, **_UNTIL_3_2),
            _era("A2", ("2.5.1", "2.6.1"), ("2.7.0", "2.7.0"), sessioned_header=1, **_SINGLE_CANDIDATE, **_UNTIL_3_2),
            _era("A3a", ("2.6.2", "2.6.99"), ("2.7.1", "3.2.99"), sessioned_header=1, **_UNTIL_3_2),
            _era("A3b", ("3.3.0", "3.3.99"), counts_every_holder=True, **_ONE_SHOT),
            _era("A4", ("3.4.0", "3.5.1"), ("3.6.0", "3.6.0"), places_at_once_without_delay=False),
            _era("A5", ("3.5.2", "3.5.99"), ("3.6.1", None)),
        )
    }
)

NEWEST = ERAS["A5"]


@lru_cache(maxsize=64)
def era_of(release: str) -> Era:
    """The era a release belongs to. Releases before 2.3 have no incremental assignor: `ValueError`."""
    wanted = parse_release(release)
    for era in ERAS.values():
        if any(wanted in span for span in era.spans):
            return era
    raise ValueError(f"Kafka {release} has no incremental Connect assignor")
