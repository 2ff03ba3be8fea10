"""`config check`: is the configuration sound, and what does it amount to."""

import json
import os
from pathlib import Path

from streaming.cli.errors import InputError
from streaming.config import ConfigError, load


def config_check(path: str | None, *, output: str) -> int:
    """Exit code 0 and what was understood, secrets masked; or exit code 2 and what is wrong."""
    try:
        settings = load(Path(path) if path else None, os.environ)
    except ConfigError as why:
        raise InputError(str(why)) from why
    if output == "json":
        print(json.dumps(settings.model_dump(mode="json"), ensure_ascii=False))
    else:
        names = ", ".join(cluster.name for cluster in settings.clusters)
        print(f"{path or 'defaults and environment'}: sound; clusters: {names or 'none'}")
    return 0
