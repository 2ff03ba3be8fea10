"""The benchmark's stage: the demo's without its Connect workers, and with other settings where a figure needs them."""

from collections.abc import Mapping
from typing import Any

from lab import broker, jars, java, postgres
from lab.checker import scrape
from lab.errors import LabError
from lab.ports import free_ports
from lab.process import Lab
from lab.stage import Ports, Stage


class BenchStage(Stage):
    """Broker, PostgreSQL and alert receiver run after `prepare`; the job is started by whoever measures it."""

    def __init__(
        self,
        lab: Lab,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        broker_properties: Mapping[str, object] | None = None,
    ) -> None:
        numbers = free_ports(4)
        super().__init__(lab, Ports(numbers[0], numbers[1], (), numbers[2], numbers[3]))
        self._settings = settings or {}
        self._broker_properties = broker_properties

    def prepare(self) -> None:
        """Everything the job needs."""
        self.java = java.find()
        class_path = jars.fetch(self.java)
        self.postgres = postgres.start(self.lab)
        ports = (self.ports.broker, self.ports.controller)
        self.broker = broker.start(self.lab, self.java, class_path, *ports, self._broker_properties)
        self._start_receiver()

    def configuration(self) -> dict[str, object]:
        """The demo's, with the settings of this run laid over its sections."""
        given = super().configuration()
        for name, section in self._settings.items():
            before = given.get(name, {})
            assert isinstance(before, dict)
            given[name] = {**before, **section}
        return given

    def listening(self) -> bool:
        """Whether the job answers at /metrics: its schema is there by then."""
        try:
            return bool(scrape(self.addresses.metrics))
        except LabError:
            return False
