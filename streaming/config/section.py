"""The base of every section, and the few value types that sections share."""

import json
import re
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

T = TypeVar("T")


class Section(BaseModel):
    """One concern: frozen, and refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        """YAML's `true` would pass as 1."""
        kind = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, bool) and any(getattr(one, "__origin__", one) is int for one in (kind, *get_args(kind))):
            raise ValueError("must be a number, not true or false")
        return value


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
LONGEST_MS = 366 * 86_400_000
"""No time that is configured is longer than a year: what is longer is a slip of the pen, and may not fit a column."""
Milliseconds = Annotated[int, Field(gt=0, le=LONGEST_MS)]
Pattern = Annotated[str, Field(min_length=1)]
"""With * and ? as in file names."""
HIGHEST_PORT = 65_535
Port = Annotated[int, Field(ge=0, le=HIGHEST_PORT)]
HTTP_URL = r"^https?://[^\s/]+(/\S*)?$"
HttpUrl = Annotated[str, shaped(HTTP_URL, "an address that begins with http:// or https://")]
ReleaseText = Annotated[str, shaped(r"\d+\.\d+(\.\d+)*", "a release such as 3.9.1")]
