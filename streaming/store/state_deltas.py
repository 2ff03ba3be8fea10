"""A state as what differs from the one that is stored: from one generation to the next nearly all of it stays.

A delta is the new state, deflated in parts with the bytes around the same place of the stored one as dictionary.

Deltas grow with what has changed since the state was written as a whole. What the later ones cost beyond the first is
taken from what the whole costs, and when nothing is left of that, the whole is written: so it costs at most twice what
a writer who knows the future would pay, however fast they grow.

    a whole that costs 4,000 bytes
    deltas   120    126    132    138   … 336    342        left   4,000  3,994  3,982  3,964  … 4   -> written anew
    deltas   400    900  1,400  1,900  2,400                left   4,000  3,500  2,500  1,000        -> written anew
"""

import zlib
from dataclasses import dataclass

PART, AROUND = 16_384, 8_192
"""Bytes of a part, and of the stored state before and behind its place: together what deflate can look back at."""
WORTH_IT = 3
"""A delta has at most this part of the stored state, which PostgreSQL deflates as well."""
DEARER = 2
"""What PostgreSQL writes of a whole, beside what zlib makes of it: it deflates less well, and has index entries."""


@dataclass(frozen=True, slots=True)
class DeltaCost:
    """Bytes of the first delta since a whole was written, and how many more all later ones may have together."""

    first: int
    left: int

    @classmethod
    def beginning(cls, packed: bytes, whole: bytes) -> "DeltaCost":
        """With the first delta of this state, which is deflated to know what it costs: once, not with each delta."""
        return cls(len(packed), DEARER * len(zlib.compress(whole, 1)))

    def after(self, packed: bytes) -> "DeltaCost | None":
        """With one more; None when it is time to write the new state as a whole."""
        left = self.left - max(len(packed) - self.first, 0)
        return DeltaCost(self.first, left) if left > 0 else None


def delta(stored: bytes, new: bytes) -> bytes | None:
    """What makes `new` of `stored`; None where too much differs."""
    parts: list[bytes] = []
    for at in range(0, len(new), PART):
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS, memLevel=zlib.DEF_MEM_LEVEL, zdict=_around(stored, at))
        parts += (packer.compress(new[at : at + PART]), packer.flush())
    packed = b"".join(parts)
    return packed if packed and len(packed) * WORTH_IT <= len(stored) else None


def applied(stored: bytes, packed: bytes) -> bytes:
    new = bytearray()
    while packed:
        unpacker = zlib.decompressobj(wbits=-zlib.MAX_WBITS, zdict=_around(stored, len(new)))
        new += unpacker.decompress(packed)
        packed = unpacker.unused_data
    return bytes(new)


def _around(stored: bytes, at: int) -> bytes:
    return stored[max(0, at - AROUND) : at + PART + AROUND]
