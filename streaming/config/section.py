"""The base of every section, the few value types that sections share, and what a wrong one raises."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_args
from unicodedata import category
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
    ValidationInfo,
    field_validator,
)

T = TypeVar("T")
NO_NUMBER = "must be a number, not true or false"
HOST = r"(?=.{1,253}$)[\w%:-]{1,63}(\.[\w%:-]{1,63})*\.?|::"
"""The name or the address of a host, each of its labels as long as one may be."""


class Section(BaseModel):
    """One concern: frozen, and refuses keys it does not know, and values that nothing could hold."""

    # Deferred: what checks a section is built once, with the whole it is part of, and not for each section beside.
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True, defer_build=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        """YAML's `true` would pass as 1."""
        kind = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, bool) and not {int, float}.isdisjoint(_plain(one) for one in (kind, *get_args(kind))):
            raise ValueError(NO_NUMBER)
        return value

    @field_validator("*", mode="after")
    @classmethod
    def _fits(cls, value: Any) -> Any:
        """Whatever the key: a number that a column and a clock can hold, a text that every receiver can be sent."""
        for one in _values(value):
            if isinstance(one, int) and one.bit_length() > 63:
                raise ValueError("must be a whole number of 64 bits")
            text = one.get_secret_value() if isinstance(one, SecretStr) else str(one)
            if any(category(letter) in ("Cc", "Cs") and letter not in "\n\r\t" for letter in text):
                raise ValueError("must hold no control characters and no halves of letters")
        return value

    def core_value(self, kind: type[T], **others: Any) -> T:
        """A dataclass of the core: what this section has under the names of its fields, and what others say."""
        names = [one.name for one in fields(kind) if one.name in type(self).model_fields]  # type: ignore[arg-type]
        return kind(**{**{name: getattr(self, name) for name in names}, **others})


def _plain(kind: Any) -> Any:
    return getattr(kind, "__origin__", kind)


def _values(value: Any) -> Iterator[Any]:
    """All that a value holds, keys too; a section in it has looked at its own."""
    match value:
        case Section():
            return
        case Mapping():
            for key, one in value.items():
                yield from (key, *_values(one))
        case tuple():
            for one in value:
                yield from _values(one)
        case _:
            yield value


def _from_text(value: Any) -> Any:
    """Environment variables are text: a list or mapping comes as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as why:
        raise ValueError("must be a list or a mapping (in an environment variable: JSON)") from why


def shaped(pattern: str, form: str) -> AfterValidator:
    """Refuses a text that does not match the pattern, and says in words which form it must have."""

    def check(value: str) -> str:
        if re.fullmatch(pattern, value) is None:
            raise ValueError(f"must be {form}")
        return value

    return AfterValidator(check)


def no_boolean(value: Any) -> Any:
    """For the numbers in a list or a mapping; those of a key of its own are looked at by its section."""
    if isinstance(value, bool):
        raise ValueError(NO_NUMBER)
    return value


def is_http_url(text: str) -> bool:
    """Whether it is an HTTP URL with the name of a host, and with a port that there is if it gives one."""
    if re.fullmatch(r"https?://[^\s/]+(/\S*)?", text) is None:
        return False
    try:
        parts = urlsplit(text)
        return re.fullmatch(HOST, parts.hostname or "") is not None and parts.port != 0
    except ValueError:
        return False


def _http_url(text: str) -> str:
    if not is_http_url(text):
        raise ValueError("must be an address that begins with http:// or https://, with the name of a host")
    return text


def _without_login(url: str) -> str:
    return re.sub(r"//[^/]*@", "//**********@", url)


FromText = BeforeValidator(_from_text)
LONGEST_MS = 366 * 86_400_000
"""No time that is configured is longer than a year: what is longer is a slip of the pen, and may not fit a column."""
Milliseconds = Annotated[int, Field(gt=0, le=LONGEST_MS)]
AnyMilliseconds = Annotated[int, Field(ge=0, le=LONGEST_MS)]
"""0 too."""
Pattern = Annotated[str, Field(min_length=1)]
"""With * and ? as in file names."""
HIGHEST_PORT = 65_535
Port = Annotated[int, Field(ge=0, le=HIGHEST_PORT)]
HttpUrl = Annotated[str, AfterValidator(_http_url), PlainSerializer(_without_login, when_used="json")]
"""Not shown: a user and a password in it."""
HostName = Annotated[str, shaped(HOST, "the name or address of a host, such as 127.0.0.1")]
ReleaseText = Annotated[str, shaped(r"\d+\.\d+(\.\d+)*", "a release such as 3.9.1")]


class ConfigError(Exception):
    """The configuration can't be used. The text says where, what is wrong and what to do; one problem a line."""
