"""No bytes make a decoder raise: random ones, and real records damaged in every way.

RM_LONG=1 (`make fuzz`) throws 200,000; `RM_FUZZ_SEED` repeats a run.
"""

import os
from collections import Counter
from itertools import islice
from random import Random

from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Tombstone, Unreadable
from rebalance_monitor.streaming.core.model.records import Row
from tests.profile import size
from tests.schemas.hostile import DECODERS, inputs, real

COUNT = size(2_000, 200_000)
SEED = int(os.environ.get("RM_FUZZ_SEED", "20261121"))
OUTCOMES = (Decoded, Tombstone, Ignored, Unreadable, Row, type(None))


def test_no_input_makes_a_decoder_raise() -> None:
    told: Counter[str] = Counter()
    for name, raw in islice(inputs(Random(SEED), real()), COUNT):
        try:
            outcome = DECODERS[name](raw)
        except Exception as why:
            raise AssertionError(f"{name} raised {type(why).__name__} {why} for {raw.hex()}") from why
        assert isinstance(outcome, OUTCOMES), name
        told[type(outcome).__name__] += 1
    print(f"\n{COUNT} inputs, seed {SEED}, none raised: {dict(told)}")
    # Damage must leave a good part sound, or the fuzzer would only try the first length field.
    assert told["Decoded"] > COUNT // 10
    assert told["Unreadable"] > COUNT // 10


def test_real_records_are_sound_before_they_are_damaged() -> None:
    sound = real()
    assert sum(map(len, sound.values())) > 1000
    assert {name for name, known in sound.items() if known} >= {
        "key",
        "group-metadata",
        "connect-assignment",
        "record-8",
    }
