"""Whether something grows with the batches of a job."""

from pathlib import Path

import pytest

from lab.resources import growth, heap_after_collections


def test_what_grows_is_shown_and_what_only_wavers_is_not() -> None:
    batches = [float(number * 100) for number in range(40)]
    wavers = [100 + (number * 7) % 5 for number in range(40)]
    grows = [one + 0.5 * number for number, one in enumerate(wavers)]
    assert not growth(batches, wavers).shown
    assert growth(batches, grows).shown
    assert growth(batches, grows).per_thousand == pytest.approx(5, abs=1)


def test_what_fills_a_cache_in_the_first_half_is_no_growth() -> None:
    batches = [float(number * 100) for number in range(40)]
    assert growth(batches, [min(number, 20) * 10.0 for number in range(40)]).per_thousand == pytest.approx(0)


def test_too_few_looks_show_nothing() -> None:
    assert not growth([1, 2, 3], [1, 2, 30]).shown


def test_java_says_what_is_left_after_it_has_collected_everything(tmp_path: Path) -> None:
    log = tmp_path / "collections.log"
    log.write_text(
        "[0.007s][info][gc] Using Serial\n"
        "[4.310s][info][gc] GC(0) Pause Young (Allocation Failure) 17M->4M(61M) 9.912ms\n"
        "[9.001s][info][gc] GC(7) Pause Full (Metadata GC Threshold) 41M->29M(64M) 80.112ms\n"
        "[245.100s][info][gc] GC(19) Pause Full (System.gc()) 93M->64M(128M) 120.402ms\n"
    )
    assert heap_after_collections(log) == [(9.001, 29.0), (245.1, 64.0)]
    assert heap_after_collections(tmp_path / "none") == []
