"""A state as what differs from the one that is stored: from one generation to the next nearly all of it stays.

A delta is the new state, deflated in parts with the bytes around the same place of the stored one as dictionary.
"""

import zlib

PART, AROUND = 16_384, 8_192
"""Bytes of a part, and of the stored state before and behind its place: together what deflate can look back at."""
WORTH_IT = 16
"""A delta is written while it has at most this part of the stored state: it grows until all is written anew."""


def delta(stored: bytes, new: bytes) -> bytes | None:
    """What makes `new` of `stored`; None where too much differs."""
    parts: list[bytes] = []
    for at in range(0, len(new), PART):
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS, memLevel=zlib.DEF_MEM_LEVEL, zdict=_around(stored, at))
        parts += (packer.compress(new[at : at + PART]), packer.flush())
    packed = b"".join(parts)
    return packed if packed and len(packed) * WORTH_IT <= len(stored) else None


def applied(stored: bytes, packed: bytes) -> bytes:
    """The state that a delta was made of."""
    new = bytearray()
    while packed:
        unpacker = zlib.decompressobj(wbits=-zlib.MAX_WBITS, zdict=_around(stored, len(new)))
        new += unpacker.decompress(packed)
        packed = unpacker.unused_data
    return bytes(new)


def _around(stored: bytes, at: int) -> bytes:
    return stored[max(0, at - AROUND) : at + PART + AROUND]
