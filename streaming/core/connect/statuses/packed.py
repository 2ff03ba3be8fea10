"""The facts of one job as one line of text, so that a group of thousands of jobs is read and written in milliseconds.

Only jobs that a status or a record touches are unpacked; the lines of all others go from one batch to the next as they
are. Nearly every job of a healthy group is one that its only holder runs, and for it the line is

    r host:8083 2 1700000001000 2 100 0 12345 [host:8084 UNASSIGNED 1 1700000000900]

holder, since generation, since ms; the RUNNING by generation, ms after that, partition, offset; and who ended it last.
`h` instead of `r`: that status belongs to history. Any other job is JSON text of its facts.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import quote, unquote

from rebalance_monitor.streaming.core.model.codec import dumps, loads
from .facts import RUNNING, Claim, End, JobFacts, JobKey, Sighting

LIVE, HISTORIC = "r", "h"
JSON_TEXT = "{"
PLAIN = ":/!$&'()*+,;=@[]"


def pack(job: JobKey, facts: JobFacts) -> str:
    shown, ended = facts.shown, facts.ended
    if shown is None or len(facts.holders) != 1 or facts.expected is not None:
        return dumps(facts)
    claim = Claim(shown.worker, shown.generation, shown.at_ms, shown.partition, shown.offset)
    runs = shown.state == RUNNING and facts.holders[0] == shown.worker and facts.claims == (claim,)
    if not (runs and shown.job == job and facts.told_ms == shown.at_ms):
        return dumps(facts)
    numbers = (
        facts.since,
        facts.since_ms,
        shown.generation,
        shown.at_ms - facts.since_ms,
        shown.partition,
        shown.offset,
    )
    words = [HISTORIC if shown.historic else LIVE, _word(shown.worker), *map(str, numbers)]
    if ended is not None:
        words += [_word(ended.worker), _word(ended.state), str(ended.generation), str(ended.at_ms)]
    return " ".join(words)


def unpack(job: JobKey, line: str) -> JobFacts:
    if line.startswith(JSON_TEXT):
        return loads(JobFacts, line)
    kind, name, *rest = line.split(" ")
    worker = _text(name)
    since, since_ms, generation, later_ms, partition, offset = map(int, rest[:6])
    at_ms = since_ms + later_ms
    return JobFacts(
        holders=(worker,),
        since=since,
        since_ms=since_ms,
        shown=Sighting(job, RUNNING, worker, generation, at_ms, partition, offset, kind == HISTORIC),
        claims=(Claim(worker, generation, at_ms, partition, offset),),
        ended=End(_text(rest[6]), _text(rest[7]), int(rest[8]), int(rest[9])) if len(rest) > 6 else None,
        told_ms=at_ms,
    )


def _word(text: str) -> str:
    """A text without a space. Half of a surrogate pair, which JSON may hold, is kept."""
    return quote(text, PLAIN, errors="surrogatepass")


def _text(word: str) -> str:
    return unquote(word, errors="surrogatepass")


class JobTable:
    """The jobs of a group while they are worked on; `lines` gives them back, packed and in order."""

    def __init__(self, lines: Mapping[JobKey, str]) -> None:
        self._lines = dict(lines)
        self._known: dict[JobKey, JobFacts] = {}
        self._changed: set[JobKey] = set()

    def get(self, job: JobKey) -> JobFacts | None:
        facts = self._known.get(job)
        if facts is None and job in self._lines:
            facts = self._known[job] = unpack(job, self._lines[job])
        return facts

    def put(self, job: JobKey, facts: JobFacts) -> None:
        self._known[job] = facts
        self._lines.setdefault(job, "")
        self._changed.add(job)

    def drop(self, job: JobKey) -> None:
        self._lines.pop(job, None)
        self._known.pop(job, None)
        self._changed.discard(job)

    def __iter__(self) -> Iterator[JobKey]:
        return iter(self._lines)

    def items(self) -> Iterator[tuple[JobKey, JobFacts]]:
        for job in list(self._lines):
            facts = self.get(job)
            if facts is not None:
                yield job, facts

    def misplaced(self) -> Iterator[tuple[JobKey, JobFacts]]:
        """Jobs that the recomputed assignment puts elsewhere; a job in short form is none of them."""
        for job, line in list(self._lines.items()):
            facts = self.get(job) if job in self._changed or line.startswith(JSON_TEXT) else None
            if facts is not None and facts.expected is not None:
                yield job, facts

    def lines(self) -> dict[JobKey, str]:
        """To be remembered."""
        for job in self._changed:
            self._lines[job] = pack(job, self._known[job])
        self._changed.clear()
        return dict(sorted(self._lines.items()))
