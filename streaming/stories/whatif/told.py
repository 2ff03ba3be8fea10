"""A prediction in plain words: for each case the rebalances to come, in order, then how the group stands after them."""

from collections.abc import Iterator, Mapping, Sequence

from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.stories.durations import exact
from rebalance_monitor.streaming.stories.explanation import Chapter
from .outcome import Course, PossibleCase, Prediction, ToCome

MOST_NAMES = 8
MOST_MEMBERS = 12
_NOBODY = "Nobody is left in the group: everything stands still until a member joins."
PerMember = Mapping[str, tuple[str, ...]]


def chapters(prediction: Prediction) -> list[Chapter]:
    """What comes, what is presumed and what is not known; a chapter for each case."""
    found = [Chapter(_title(case), tuple(_case(case, prediction))) for case in prediction.cases]
    if prediction.known:
        found.append(Chapter("What is certain", prediction.known))
    if prediction.ranges:
        found.append(Chapter("What end offsets decide", tuple(one.text for one in prediction.ranges)))
    if not prediction.cases and not prediction.unknown:
        found.append(Chapter("What comes", ("Nothing can be said: Kafka's class fails on this group.",)))
    if prediction.presumed:
        found.append(Chapter("What is presumed", prediction.presumed))
    if prediction.unknown:
        found.append(Chapter("What is not known", prediction.unknown))
    return found


def _title(case: PossibleCase) -> str:
    return f"What comes, if it is {' or '.join(case.given)}" if case.given else "What comes"


def _case(case: PossibleCase, prediction: Prediction) -> Iterator[str]:
    numbers = [len(course.to_come) for course in case.courses]
    if not max(numbers) and not any(course.holds for course in case.courses):
        yield _NOBODY
        return
    if not max(numbers):
        yield "No rebalance comes, and nobody gives up anything."
        return
    if min(numbers) != max(numbers):
        yield f"{_span(numbers)} rebalances come; the first {min(numbers)} are told."
    if prediction.eager:
        yield "In each rebalance every member stops until it has its new assignment (eager protocol)."
    for place in range(min(numbers)):
        yield " ".join(_step([course.to_come[place] for course in case.courses]))
    yield from _after(case.courses)


def _step(several: Sequence[ToCome]) -> Iterator[str]:
    """The same rebalance of each course."""
    first = several[0]
    when = "At once" if not max(one.after_ms for one in several) else f"After {_times(one.after_ms for one in several)}"
    yield f"{when}, generation {first.generation}: {' or '.join(dict.fromkeys(one.why for one in several))}."
    gives_up = _moved([one.gives_up for one in several], "gives up")
    gets = _moved([one.gets for one in several], "gets")
    if not gives_up and not gets:
        yield "Nobody gives up or gets anything."
    yield from gives_up
    yield from gets
    if any(one.idle for one in several):
        names = _same([one.idle for one in several])
        yield f"Nobody has {names or _span([len(one.idle) for one in several])} after it."
    if any(one.delay_ms for one in several):
        yield f"A delay runs: {_times(one.delay_ms for one in several)} are left."


def _moved(several: Sequence[PerMember], how: str) -> list[str]:
    members = sorted({name for shares in several for name, own in shares.items() if own})
    told = []
    for name in members[:MOST_MEMBERS]:
        own = [shares.get(name, ()) for shares in several]
        told.append(f"{name} {how} {_same(own) or _span([len(one) for one in own])}.")
    if len(members) > MOST_MEMBERS:
        rest = [sum(len(shares.get(name, ())) for name in members[MOST_MEMBERS:]) for shares in several]
        told.append(f"{len(members) - MOST_MEMBERS} more: each {how} something, {_span(rest)} together.")
    return told


def _same(several: Sequence[tuple[str, ...]]) -> str:
    """The names, where all courses say the same."""
    return listed(several[0], MOST_NAMES) if len(set(several)) == 1 else ""


def _after(courses: Sequence[Course]) -> Iterator[str]:
    members = sorted({name for course in courses for name in course.holds})
    if not members:
        yield _NOBODY
        return
    sizes = {name: [len(course.holds.get(name, ())) for course in courses] for name in members}
    told = [f"{name} has {_span(sizes[name])}" for name in members]
    yield f"Then {listed(told, MOST_MEMBERS)}."
    idle = [course.idle_ms for course in courses if course.idle_ms is not None]
    if len(idle) == len(courses) and max(idle):
        seconds = _span([one // 1000 for one in idle])
        yield (
            f"What waits for a worker costs {seconds} task-seconds (a connector counts as a task); how long it takes to"
            " stop and start what moves is not known."
        )


def _times(of: Iterator[int]) -> str:
    numbers = sorted(set(of))
    return exact(numbers[0]) if len(numbers) == 1 else f"{exact(numbers[0])} to {exact(numbers[-1])}"


def _span(numbers: Sequence[int]) -> str:
    """`3`, or `2 to 4`."""
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def as_object(prediction: Prediction) -> dict[str, object]:
    return {
        "eager": prediction.eager,
        "cases": [
            {"given": list(case.given), "courses": [_course(one) for one in case.courses]} for case in prediction.cases
        ],
        "ranges": {one.name: {"least": one.least, "most": one.most} for one in prediction.ranges},
        "known": list(prediction.known),
        "presumed": list(prediction.presumed),
        "unknown": list(prediction.unknown),
    }


def _course(course: Course) -> dict[str, object]:
    return {
        "rebalances": [
            {
                "generation": one.generation,
                "after_ms": one.after_ms,
                "why": one.why,
                "gives_up": {name: list(own) for name, own in one.gives_up.items()},
                "gets": {name: list(own) for name, own in one.gets.items()},
                "idle": list(one.idle),
                "delay_ms": one.delay_ms,
            }
            for one in course.to_come
        ],
        "holds": {name: list(own) for name, own in course.holds.items()},
        "idle_ms": course.idle_ms,
    }
