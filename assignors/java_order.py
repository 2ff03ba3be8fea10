"""How Java sorts keys, and their hash codes.

Strings compare and hash by UTF-16 code unit, so a character beyond U+FFFF sorts before U+E000..U+FFFF. In which order
hash collections are walked is told in `assignors.java_table`.
"""

from collections.abc import Hashable, Iterable
from functools import lru_cache
from struct import Struct
from typing import Any

TaskId = tuple[str, int]

_MASK = 0xFFFFFFFF
_WORDS = Struct(">4I")


def utf16_key(text: str) -> bytes:
    """Sort key that orders strings as `String.compareTo` does; lone surrogates are kept."""
    return text.encode("utf-16-be", "surrogatepass")


def sorted_names(names: Iterable[str]) -> list[str]:
    """Strings in Java's natural order."""
    listed = list(names)
    # ASCII is ordered alike in both worlds, and the native comparison is many times faster.
    return sorted(listed) if all(map(str.isascii, listed)) else sorted(listed, key=utf16_key)


def sorted_tasks(tasks: Iterable[TaskId]) -> list[TaskId]:
    """Tasks by connector in Java's order, then by number."""
    listed = list(tasks)
    if all(name.isascii() for name, _ in listed):
        return sorted(listed)
    return sorted(listed, key=lambda task: (utf16_key(task[0]), task[1]))


@lru_cache(maxsize=65536)
def java_hash(text: str) -> int:
    """`String.hashCode()` as an unsigned 32-bit number."""
    h = 0
    if text.isascii():
        for unit in text.encode("ascii"):
            h = 31 * h + unit & _MASK
        return h
    units = utf16_key(text)
    for at in range(0, len(units), 2):
        h = 31 * h + (units[at] << 8 | units[at + 1]) & _MASK
    return h


def task_hash(task: TaskId) -> int:
    """`ConnectorTaskId.hashCode()` as an unsigned 32-bit number."""
    return 31 * java_hash(task[0]) + task[1] & _MASK


@lru_cache(maxsize=65536)
def uuid_hash(uuid: bytes) -> int:
    """Hash code of Kafka's `Uuid` and Java's `UUID` (16 bytes) as an unsigned 32-bit number."""
    a, b, c, d = _WORDS.unpack(uuid)
    h: int = a ^ b ^ c ^ d
    return h


def topic_partition_hash(at: tuple[bytes, int]) -> int:
    """Hash code of a partition of a topic id, as releases since 4.1 compute it, as an unsigned 32-bit number."""
    return 31 * uuid_hash(at[0]) + at[1] & _MASK


def uuid_key(uuid: bytes) -> bytes:
    """Sort key that orders 16-byte ids as their `compareTo` does: two signed 64-bit halves."""
    return bytes((uuid[0] ^ 0x80, *uuid[1:8], uuid[8] ^ 0x80, *uuid[9:]))


def key_hash(key: Hashable) -> int:
    """`hashCode()` of a key as an unsigned 32-bit number.

    Strings; (name, number) for tasks of Connect and of Streams groups; 16-byte ids; whole numbers; (id, number) for a
    partition of a topic id as releases since 4.1 hash it. Raises TypeError for anything else.
    """
    match key:
        case str():
            return java_hash(key)
        case (str(name), int(number)):
            return task_hash((name, number))
        case (bytes(topic), int(number)):
            return topic_partition_hash((topic, number))
        case bytes():
            return uuid_hash(key)
        case int():
            return key & _MASK
        case _:
            raise TypeError(f"no Java hash is known for {type(key).__name__}")


def natural_key(key: Hashable) -> Any:
    """Sorts keys of one kind as `compareTo` does."""
    match key:
        case (str(name), int(number)):
            return utf16_key(name), number
        case bytes():
            return uuid_key(key)
        case int():
            return key
        case _:
            return utf16_key(str(key))
