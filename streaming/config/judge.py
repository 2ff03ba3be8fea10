"""How patient the judge is."""

from typing import Annotated

from pydantic import Field

from streaming.config.section import Section


class JudgeSection(Section):
    """How long a generation may wait for records of other topics before it is final as not judged."""

    wait_ms: Annotated[int, Field(ge=0)] = 60_000
