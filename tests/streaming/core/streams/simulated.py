"""A simulated Streams application (`lab.streams.life`) whose records are a story."""

import random
from dataclasses import replace

from lab.streams import life
from lab.streams.truth import Part as Part
from lab.streams.truth import Replicas as Replicas
from lab.streams.truth import Truth as Truth
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from tests.streaming.core.rules.builders import GROUP, Story


class Life(life.Life):
    """The group from its first member on; `known`: what the monitor's configuration says of it."""

    def __init__(self, dice: random.Random, truth: Truth, *, known: StreamsSettings | None = None) -> None:
        self.story = Story()
        super().__init__(dice, truth, GROUP, self.story)
        if known is not None:
            self.story.settings = replace(self.story.settings, streams={GROUP: known})
