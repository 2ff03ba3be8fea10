"""The base of every section, and the few value types that sections share."""

import json
import re
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

T = TypeVar("T")


class Section(BaseModel):
    """One concern: frozen, and refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True)


def _from_text(value: Any) -> Any:
    """Environment variables are text: a list or mapping comes as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as why:
        raise ValueError("must be a list or a mapping (in an environment variable: JSON)") from why


def shaped(pattern: str, form: str) -> AfterValidator:
    """Refuses a text that does not match the pattern, and says in words which form it must have."""

    def check(value: str) -> str:
        if re.fullmatch(pattern, value) is None:
            raise ValueError(f"must be {form}")
        return value

    return AfterValidator(check)


FromText = BeforeValidator(_from_text)
Milliseconds = Annotated[int, Field(gt=0)]
Pattern = Annotated[str, Field(min_length=1)]
"""With * and ? as in file names."""
Port = Annotated[int, Field(ge=0, le=65535)]
HTTP_URL = r"^https?://[^\s/]+(/\S*)?$"
HttpUrl = Annotated[str, shaped(HTTP_URL, "an address that begins with http:// or https://")]
ReleaseText = Annotated[str, shaped(r"\d+\.\d+(\.\d+)*", "a release such as 3.9.1")]
