"""Records that could not be read, as they are counted."""

from rebalance_monitor.streaming.core.model.results import UndecodableRecord

UNSUPPORTED = "unsupported_version"


def counted_reason(record: UndecodableRecord) -> str:
    """The word under which a record is counted: for a version nobody knows, with the version, which is what the first
    two bytes of the sample say."""
    if record.reason != UNSUPPORTED or len(record.sample) < 4:
        return record.reason
    version = int.from_bytes(bytes.fromhex(record.sample[:4]), "big", signed=True)
    return f"{UNSUPPORTED}_{version}"
