"""Blobs of members that did not change are decoded once, in bounded memory."""

import pickle

from rebalance_monitor.streaming.core.lifecycles import FORMATS
from rebalance_monitor.streaming.core.model.records import BadBlob
from rebalance_monitor.streaming.core.reading.blobs import MemberBlobs, remembering


def test_the_same_bytes_are_decoded_once() -> None:
    seen: list[bytes] = []

    def decode(blob: bytes) -> int:
        seen.append(blob)
        return len(blob)

    recall = remembering(decode, 100)
    assert [recall(b"a" * 10), recall(bytes(b"a" * 10)), recall(b"b")] == [10, 10, 1]
    assert seen == [b"a" * 10, b"b"]


def test_what_is_remembered_is_bounded_in_bytes_and_what_is_used_stays() -> None:
    seen: list[bytes] = []

    def decode(blob: bytes) -> int:
        seen.append(blob)
        return len(blob)

    recall = remembering(decode, 100)
    hot = b"hot"
    for number in range(200):
        recall(hot)
        recall(number.to_bytes(10, "big"))
    assert seen.count(hot) == 1
    assert len(seen) == 201
    recall((0).to_bytes(10, "big"))
    assert len(seen) == 202, "what was not asked for in two turns is forgotten"
    big = bytes(101)
    recall(big)
    recall(big)
    assert seen.count(big) == 2, "larger than everything that may be remembered"


def test_readers_by_protocol() -> None:
    blobs = MemberBlobs(FORMATS)
    static = bytes.fromhex(
        "0003 000f 687474703a2f2f77313a383038332f 0000000000000007 ffffffff"
        "00000001 0002 6331 00000001 0002 6332 00000002 00000000 00000003"
    )
    declared, _ = blobs.readers("connect", "static")
    plain, _ = blobs.readers("connect", "sessioned")
    assert getattr(declared(static), "static_connectors", None) == ("c1",)
    assert getattr(plain(static), "static_connectors", None) == ()
    subscription, assignment = blobs.readers("consumer", "range")
    assert (subscription(b""), assignment(b"\x00")) == (BadBlob("empty"), BadBlob("truncated"))
    assert [read(b"anything") for read in blobs.readers("something-else", None)] == [None, None]


def test_another_process_reads_alike() -> None:
    """A fold that goes to a worker takes its readers along, and nothing of what they remember."""
    blobs = MemberBlobs(FORMATS)
    for value in (b"", b"\x00\x01", b"\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff"):
        before = [read(value) for read in blobs.readers("consumer", "range")]
        again = pickle.loads(pickle.dumps(blobs))
        assert [read(value) for read in again.readers("consumer", "range")] == before
