"""Near misses where the status topic was compacted before it was read."""

from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import NearMiss
from tests.streaming.core.rules.test_compacted_statuses import replaced_later, without_first_word


def its_first_word_was_replaced() -> Story:
    story = replaced_later("RUNNING")
    without_first_word(story, hole=True)
    return story


CASES = (
    NearMiss(
        code="CONNECT-K4",
        exception="what the worker said may have been compacted away",
        story=its_first_word_was_replaced,
    ),
)
