"""What may come: the rebalances of one possible course, and what all possible courses have in common."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToCome:
    """One rebalance to come. `gets` and `gives_up` by member, `idle` what nobody has after it, `delay_ms` the delay
    that runs after it (0: none). Names are those that people use. `after_ms`: how long after the change.
    """

    generation: int
    why: str
    after_ms: int
    gets: Mapping[str, tuple[str, ...]]
    gives_up: Mapping[str, tuple[str, ...]]
    idle: tuple[str, ...] = ()
    delay_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One possible course. `holds`: what each member has at the end; `idle_ms`: how long connectors and tasks stand
    still for a delay or for want of a worker, all together; None where that does not end, or is not known.
    """

    to_come: tuple[ToCome, ...]
    holds: Mapping[str, tuple[str, ...]]
    idle_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PossibleCase:
    """Courses that are possible if one of `given` is so (nothing: always). They differ by ids that Kafka makes up."""

    given: tuple[str, ...]
    courses: tuple[Course, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the next rebalance, the least and the most that may come; `text`: of both, in words."""

    name: str
    least: int
    most: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What comes of a change. `eager`: everybody stops everything for each rebalance. `ranges`: figures of the next
    rebalance where no single one is known. `known` is what holds of any course, `presumed` and `unknown` are sentences,
    too."""

    cases: tuple[PossibleCase, ...]
    eager: bool = False
    ranges: tuple[Figure, ...] = ()
    known: tuple[str, ...] = ()
    presumed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def courses(self) -> list[Course]:
        """All of them, each once."""
        found: list[Course] = []
        for case in self.cases:
            found += [one for one in case.courses if one not in found]
        return found


def cases_of(courses: Iterable[tuple[str, Course]]) -> tuple[PossibleCase, ...]:
    """Each course with what it is given by: those of one such thing together, things with the same courses as one."""
    by_given: dict[str, list[Course]] = {}
    for given, course in courses:
        own = by_given.setdefault(given, [])
        if course not in own:
            own.append(course)
    found: list[tuple[list[str], list[Course]]] = []
    for given, own in by_given.items():
        same = next((case for case in found if all(one in case[1] for one in own) and len(own) == len(case[1])), None)
        if same is None:
            found.append(([given], own))
        else:
            same[0].append(given)
    alone = len(found) == 1
    return tuple(PossibleCase(() if alone else tuple(given), tuple(own)) for given, own in found)
