"""A decoded value or payload as a person reads it: what JSON can hold, with everything that the decoders know."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, assert_never

from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Outcome, Tombstone, Unreadable
from .decoding import SAMPLE_BYTES

ShownObject = dict[str, Any]


def payload_shown(outcome: Outcome[Any], raw: bytes) -> ShownObject:
    """What became of a payload, with the bytes that nobody has read."""
    match outcome:
        case Decoded(value, remaining):
            shown: ShownObject = {
                "outcome": "decoded",
                "bytes": len(raw),
                "value": plain(value),
                "remaining": remaining,
            }
            return {**shown, "remaining_hex": raw[len(raw) - remaining :].hex()} if remaining else shown
        case Unreadable(reason, detail):
            return {
                "outcome": "unreadable",
                "reason": reason,
                "detail": detail,
                "bytes": len(raw),
                "sample_hex": raw[:SAMPLE_BYTES].hex(),
            }
        case Ignored() | Tombstone():
            return {"outcome": "ignored", "bytes": len(raw)}
        case _:
            assert_never(outcome)


def plain(value: Any) -> Any:
    """The value as JSON can hold it: dataclasses as objects, bytes in hexadecimal, keys of mappings as text."""
    match value:
        case bytes():
            return value.hex()
        case tuple() | list() | frozenset() | set():
            return [plain(one) for one in value]
        case Mapping():
            return {_key(key): plain(one) for key, one in value.items()}
        case _ if is_dataclass(value):
            return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        case _:
            return value


def _key(key: Any) -> str:
    return "_".join(str(part) for part in key if part is not None) if isinstance(key, tuple) else str(key)
