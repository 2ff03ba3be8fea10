"""Names in published objects replaced by keyed digests: the same name by the same digest, and nobody can go back.

Names are where a record or an object says so: groups, members, clients, hosts, workers, topics, connectors, racks. A
word of the format (a field, a kind, a grade) is no name, whatever is called so.

    {"group": "orders", "message": "orders-7 is held by app-1"}
    {"group": "n4f2c81d07a", "message": "n4f2c81d07a-7 is held by n90be11c25d"}
"""

import hmac
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from rebalance_monitor.streaming.core.model.printed import schema

DIGEST_LETTERS = 10
_NUMBERED = re.compile(r"(.+)-\d+")
_OF_A_NUMBER = re.compile(r"\d+(?=(?:-\d+)?$)")
_WORD = re.compile(r"\w+")
_NUMBER_OR_TASK = re.compile(r"\d+(_\d+)?")
_FREE_TEXT = frozenset({"message", "text", "reason", "next_step", "why"})
_WORDS_OF = frozenset(
    {
        "kind", "grade", "era", "eras", "reason_kind", "rule", "code", "severity", "certainty", "type",
        "lifecycle", "alert", "alert_name", "version", "laws", "trend",
        "state", "group_kind", "grades", "violations", "other_groups",
    }
)  # fmt: skip
"""Fields whose values are words of Kafka or of the format."""
_KAFKAS = frozenset(
    {
        "connect", "consumer", "share", "streams",
        "eager", "default", "compatible", "sessioned", "static", "incremental cooperative",
        "range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "simple", "stream",
    }
)  # fmt: skip
_KAFKAS_OR_OWN = frozenset({"assignor", "assignors", "protocol", "protocol_type", "protocolType", "serverAssignor"})
"""Fields whose values are words of Kafka, or names of people's own, such as the class of an assignor."""
_CALLED = frozenset(
    {
        "group", "groupId", "topic", "topics", "cluster", "member_id", "memberId", "client_id", "clientId",
        "client_host", "clientHost", "instance_id", "groupInstanceId", "instanceId", "worker", "leader", "connector",
        "by_connector",
    }
)  # fmt: skip
"""Fields whose values are names even if they look like a number, or like the task of a Streams application."""
KAFKAS_TOPIC = "__consumer_offsets"


@cache
def format_words() -> frozenset[str]:
    """Fields of published objects, and the words that their values are chosen from."""
    return frozenset(_words_of(schema())) | _KAFKAS


def _words_of(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            yield from map(str, properties)
        yield from (str(word) for word in schema.get("enum", ()) if isinstance(word, str))
        yield from (str(schema["const"]),) if isinstance(schema.get("const"), str) else ()
    if isinstance(schema, Mapping | list):
        for one in schema.values() if isinstance(schema, Mapping) else schema:
            yield from _words_of(one)


def words_in(value: object, field: str = "") -> Iterator[str]:
    """What stands in an object where a word of Kafka or of the format is expected, such as a protocol."""
    match value:
        case Mapping():
            for key, held in value.items():
                yield from words_in(held, str(key))
        case list() | tuple():
            for one in value:
                yield from words_in(one, field)
        case str() if _is_word(value, field):
            yield value


def _is_word(text: str, field: str) -> bool:
    return field in _WORDS_OF or (field in _KAFKAS_OR_OWN and text in _KAFKAS)


def names_in(value: object, words: frozenset[str], field: str = "", *, fields: bool = False) -> Iterator[str]:
    """The names that an object states, without those in free text. `words`: of the format. `fields`: keys are fields of
    a record, as far as they look so."""
    match value:
        case Mapping():
            for key, held in value.items():
                if field not in _WORDS_OF and not (fields and str(key).isidentifier()):
                    yield from _names_of(str(key), words, field)
                yield from names_in(held, words, str(key) if fields or str(key) in words else field, fields=fields)
        case list() | tuple():
            for one in value:
                yield from names_in(one, words, field, fields=fields)
        case str() if not _is_word(value, field) and field not in _FREE_TEXT:
            yield from _names_of(value, words, field)


def _names_of(text: str, words: frozenset[str], field: str) -> Iterator[str]:
    """The name, what it is without a number at its end, and a host without slash, scheme and port."""
    if not text.isascii() and _WORD.match(text) is None:
        yield text
    host = re.sub(r"^(?:[A-Za-z][A-Za-z+.-]*://|\W+)", "", text).rstrip("/")
    for name in (host, re.sub(r":\d{1,5}$", "", host)):
        numbered = _NUMBERED.fullmatch(name)
        for one in (name, *((numbered[1],) if numbered else ())):
            is_number = field not in _CALLED and _NUMBER_OR_TASK.fullmatch(one)
            if one and one not in words and one != KAFKAS_TOPIC and not is_number:
                yield one


def numbered_in(value: object) -> Iterator[str]:
    """Topics and connectors of which an object states partitions or tasks, as `["orders", 7]`."""
    match value:
        case Mapping():
            for held in value.values():
                yield from numbered_in(held)
        case [str() as name, int()]:
            yield name
        case list() | tuple():
            for one in value:
                yield from numbered_in(one)
        case _:
            pass


def renaming(names: Iterable[str], key: bytes, numbered: Iterable[str] = ()) -> Callable[[str], str]:
    """A text with each of the names in it replaced. `numbered`: names of which `orders-7` is a part: it is their
    digest with the number, as in lists, and no name of its own. The longest name counts first; names begin and end
    where words do, so `orders` is in `orders-7` and not in `reorders`. A name that is a number is replaced where it
    stands alone, or before the number of a partition or task: in a sentence it is a number like others."""
    by_first_word: dict[str, list[str]] = {}
    wordless: list[str] = []
    numbers: set[str] = set()
    own = set(names)
    wholes = own.intersection(numbered)
    own = {one for one in own if one in wholes or not ((part := _NUMBERED.fullmatch(one)) and part[1] in wholes)}
    for name in sorted(own, key=lambda one: (-len(one), one)):
        if name.isdigit():
            numbers.add(name)
        elif (first := _WORD.match(name)) is not None:
            by_first_word.setdefault(first[0], []).append(name)
        elif not name.isascii():
            wordless.append(name)

    @cache
    def rename(text: str) -> str:
        if (number := _OF_A_NUMBER.match(text)) is not None and number[0] in numbers:
            return digest(number[0], key) + text[number.end() :]
        for name in wordless:
            text = text.replace(name, digest(name, key))
        parts: list[str] = []
        at = 0
        for word in _WORD.finditer(text):
            if (start := word.start()) < at:
                continue
            for name in by_first_word.get(word[0], ()):
                end = start + len(name)
                if text.startswith(name, start) and not _WORD.match(text, end):
                    parts += (text[at:start], digest(name, key))
                    at = end
                    break
        return "".join((*parts, text[at:]))

    return rename


def digest(name: str, key: bytes) -> str:
    return "n" + hmac.new(key, name.encode(), "sha256").hexdigest()[:DIGEST_LETTERS]


def renamed(value: Any, words: frozenset[str], rename: Callable[[str], str], field: str = "") -> Any:
    """The object with its names replaced; fields and words of the format stay."""
    match value:
        case Mapping():
            return {
                str(key) if str(key) in words or field in _WORDS_OF else rename(str(key)): renamed(
                    held, words, rename, str(key) if str(key) in words else field
                )
                for key, held in value.items()
            }
        case list() | tuple():
            return [renamed(one, words, rename, field) for one in value]
        case str() if not _is_word(value, field) and value not in words:
            return rename(value)
        case _:
            return value
