"""One value as a batch of Arrow."""

import subprocess
import sys

import pytest

pa = pytest.importorskip("pyarrow")

from rebalance_monitor.streaming.spark.one_value import one_value  # noqa: E402 - needs pyarrow


@pytest.mark.parametrize("value", [b"", b"x", b"\0" * 70_000])
def test_it_is_what_arrow_makes_of_the_value(value: bytes) -> None:
    assert one_value("told", value).equals(pa.RecordBatch.from_pydict({"told": pa.array([value], pa.binary())}))


def test_pandas_is_not_imported_for_it() -> None:
    made = "from rebalance_monitor.streaming.spark.one_value import one_value; one_value('told', b'x')"
    said = f"{made}; import sys; print('pandas' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", said], text=True) == "False\n"
