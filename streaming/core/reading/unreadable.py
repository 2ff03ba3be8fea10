"""Records that could not be read, as they are published and counted. No byte of a config record is among it."""

from schemas.connect_topics import OtherConfig
from streaming.core.model.results import Source, UndecodableRecord

UNSUPPORTED = "unsupported_version"
CONFIG_NOT_JSON = "config_not_json"


def unreadable_config(cluster: str, source: Source, record: OtherConfig) -> UndecodableRecord:
    """A config record that Kafka's reader skips: its size and keyed digest."""
    sample = f"keyed digest {record.digest}" if record.digest else ""
    return UndecodableRecord(
        cluster=cluster, source=source, reason=CONFIG_NOT_JSON, size_bytes=record.size_bytes, sample=sample
    )


def counted_reason(record: UndecodableRecord) -> str:
    """The word under which a record is counted: for a version nobody knows, with the version, which is what the first
    two bytes of the sample say."""
    if record.reason != UNSUPPORTED or len(record.sample) < 4:
        return record.reason
    version = int.from_bytes(bytes.fromhex(record.sample[:4]), "big", signed=True)
    return f"{UNSUPPORTED}_{version}"
