"""The address of /metrics, /healthz and /readyz."""

from rebalance_monitor.streaming.config.section import HostName, Port, Section

ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""What listens on all addresses is asked on this one."""


def reached_at(host: str, port: int) -> str:
    """Where from this machine to ask what listens there."""
    host = ANYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class HttpSection(Section):
    """Loopback unless told otherwise: the pages name groups and hosts."""

    host: HostName = "127.0.0.1"
    port: Port = 9470

    @property
    def reached_at(self) -> str:
        """The job's own endpoint, seen from this machine."""
        return reached_at(self.host, self.port)
