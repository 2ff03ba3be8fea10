"""A host of plug-ins that is closed at the end."""

from collections.abc import Iterator

import pytest

from rebalance_monitor.streaming.plug_ins.host import PlugInHost


@pytest.fixture
def host() -> Iterator[PlugInHost]:
    made = PlugInHost()
    yield made
    made.close()
