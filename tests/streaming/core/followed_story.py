"""A story whose records are read as they come, while the monitor's own clock goes on."""

from collections.abc import Sequence

from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Incident
from tests.streaming.core.rules.builders import GROUP, Story, incidents
from tests.streaming.folded_group import FoldedGroup


class FollowedStory(FoldedGroup):
    """What its methods return is said of the rule `code` alone: (code, transition)."""

    def __init__(self, story: Story, code: str) -> None:
        super().__init__(story.settings, GROUP)
        self.story, self.code, self.now_ms, self.told = story, code, 0, 0
        self.reads()

    def reads(self) -> list[tuple[str, str]]:
        """The new records of the story."""
        new = self.story.rows[self.told :]
        self.told = len(self.story.rows)
        self.now_ms = max(self.now_ms, self.story.now_ms)
        return self.said(new)

    def waits(self, for_ms: int) -> list[tuple[str, str]]:
        """Nobody asks, or nobody answers."""
        self.now_ms += for_ms
        return self.said()

    def said(self, rows: Sequence[Row] = ()) -> list[tuple[str, str]]:
        """Of these rows now."""
        self.settings = self.story.settings
        return [(one.code, one.transition) for one in incidents(self.fold(rows, self.now_ms).results, self.code)]

    def incident(self, code: str = "") -> Incident:
        """As it was published last."""
        return incidents(self.results, code or self.code)[-1]
