"""What the rule table is made of: stories in which one rule is broken, and stories that only look like it.

A rule's cases live beside its law: `cases_record`, `cases_static`, `cases_across`, `cases_status`; each has `CASES`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import Story


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """One rule, and no other above info, is broken once in this story.

    `subjects` as "type id", in the order reported; `severity` the worst it reaches. `along` names rules that cannot but
    break too, because their statement contains this one's.
    """

    code: str
    story: Callable[[], Story]
    subjects: tuple[str, ...]
    severity: Severity
    along: frozenset[str] = frozenset()
    says: str = ""
    """A part of the message."""

    @property
    def name(self) -> str:
        return f"{self.code}-{self.story.__name__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """A legitimate exception of a rule, in its catalogue's words: nothing worse than `at_most` is reported."""

    code: str
    exception: str
    story: Callable[[], Story]
    at_most: Severity | None = None

    @property
    def name(self) -> str:
        return f"{self.code}-{self.story.__name__}"


Case = Broken | NearMiss
