"""A change of a group that somebody thinks of, and the members that it speaks of.

Everything of one change happens at once and is one rebalance; a member that bounces is back some time later.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from rebalance_monitor.schemas.coordinator_records import NEWEST
from rebalance_monitor.streaming.stories.durations import exact
from rebalance_monitor.streaming.stories.known import Published, names_of

MOST_JOINING = 100
TRIED_IDS = 16
"""So many ids of members to come are tried, for Kafka makes ids up and assignors sort by them or by their hashes."""
BY_ID = "Who gives up or gets what depends on the ids that Kafka makes up for members that join."
TRIED = f"{TRIED_IDS} sets of ids were tried for members to come; other ids may give what none of these gave."


_LAST_MINORS = {2: 8, 3: 9, NEWEST[0]: NEWEST[1]}
"""The last release of each major number, as far as this monitor knows."""


class CannotPredict(ValueError):
    """Nothing can be computed; the text is a sentence that says why."""


class WrongChange(ValueError):
    """The change does not fit the group; the text is a sentence that says what to do."""


def check_release(release: str) -> None:
    """WrongChange where Kafka has no such release, or nobody knows yet how it assigns. A patch may be a later one."""
    numbers = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,3})(\.[0-9]{1,3})?", release)
    if numbers is None:
        raise WrongChange(f"{release!r} is no release that is known; write one such as 4.3")
    if int(numbers[2]) > _LAST_MINORS.get(int(numbers[1]), -1):
        known = ", ".join(f"{major}.0 to {major}.{minor}" for major, minor in _LAST_MINORS.items())
        raise WrongChange(f"{release!r} is no release of Kafka that is known; known are {known}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """`leave` and `bounce` are names of members as people or records call them, `scale` is the number of tasks by
    connector. `max_delay_ms` is `scheduled.rebalance.max.delay.ms`, None where nobody says it."""

    leave: tuple[str, ...] = ()
    join: int = 0
    scale: Mapping[str, int] = field(default_factory=dict)
    bounce: tuple[str, ...] = ()
    away_ms: int = 30_000
    max_delay_ms: int | None = None

    def __bool__(self) -> bool:
        return bool(self.leave or self.join or self.scale or self.bounce)

    def text(self) -> str:
        parts = [f"{name} leaves" for name in self.leave]
        parts += [f"{name} leaves and is back after {exact(self.away_ms)}" for name in self.bounce]
        if self.join:
            parts.append("a member joins" if self.join == 1 else f"{self.join} members join")
        parts += [f"connector {name} has {count} tasks" for name, count in self.scale.items()]
        return ", ".join(parts)

    def begins(self) -> str:
        """What happens at once, in words."""
        return replace(self, leave=(*self.leave, *self.bounce), bounce=()).text()


@dataclass(frozen=True, slots=True)
class Concerned:
    """The change with member ids. `names`: what people call each member, those to come too."""

    leaving: tuple[str, ...]
    bouncing: tuple[str, ...]
    names: Mapping[str, str]


def concerned(change: GroupChange, generation: Published) -> Concerned:
    """Whom the change speaks of. WrongChange where a name is of none, or of several, or is given twice."""
    called = names_of(generation)
    leaving = tuple(one for name in change.leave for one in _ids_of(name, generation, called))
    bouncing = tuple(one for name in change.bounce for one in _ids_of(name, generation, called))
    both = (*leaving, *bouncing)
    if len(set(both)) < len(both):
        raise WrongChange("a member is named twice; name each once")
    return Concerned(leaving, bouncing, called)


def there(names: Iterable[str], generation: Published) -> tuple[str, ...]:
    """Which of these names are of members of the group, or of hosts of some."""
    called = names_of(generation)
    return tuple(one for one in names if _called(one, generation, called) or _on_host(one, generation))


def _ids_of(name: str, generation: Published, called: Mapping[str, str]) -> list[str]:
    """One member's, or those of all on a host."""
    found = _called(name, generation, called)
    if len(found) > 1:
        raise WrongChange(f"several members are called {name}; give the member id of one: {', '.join(sorted(found))}")
    found = found or _on_host(name, generation)
    if not found:
        raise WrongChange(f"no member {name} is in the group; it has {', '.join(sorted(called.values()))}")
    return found


def _called(name: str, generation: Published, called: Mapping[str, str]) -> list[str]:
    members = generation["members"]
    found = [one["member_id"] for one in members if name in (one["member_id"], called[one["member_id"]])]
    told = ("worker", "instance_id", "client_id")
    return found or [one["member_id"] for one in members if any(one.get(field) == name for field in told)]


def _on_host(name: str, generation: Published) -> list[str]:
    """A broker writes a host as `/10.0.3.4`, or as `name/10.0.3.4`."""
    members = generation["members"]
    return [one["member_id"] for one in members if name and name in (one["client_host"] or "").split("/")]


def ids_to_come(
    change: GroupChange, who: Concerned, generation: Published
) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Member ids that those to come may have, again and again: ids of those that join with what they are called, and by
    the id of each member that bounces the one it comes back with. A new process has its client's id, or if it is static
    its instance id, and a UUID; of one that nobody knows yet, any client's id may sort before or after the others.
    """
    begins = {one["member_id"]: str(one["instance_id"] or one["client_id"]) for one in generation["members"]}
    known = sorted({str(one["client_id"]) for one in generation["members"]}) or [""]
    for turn in range(TRIED_IDS if change.join or who.bouncing else 1):
        joining = {}
        for number in range(change.join):
            # Some sort before all that are known, some among them, some behind.
            client = ("!", "~", *known)[(turn + number) % (len(known) + 2)]
            joining[f"{client}-{_uuid(turn, number)}"] = f"new member {number + 1}"
        back = {one: f"{begins[one]}-{_uuid(turn, one)}" for one in who.bouncing}
        yield joining, back


Ids = Callable[[GroupChange, Concerned, Published], Iterable[tuple[dict[str, str], dict[str, str]]]]
"""As `ids_to_come`."""


def _uuid(*of: object) -> str:
    text = sha256(repr(of).encode()).hexdigest()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:32]))
