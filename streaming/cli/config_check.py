"""`config check`: is the configuration sound, and what does it amount to."""

import json

from streaming.cli.opening import settings_from


def config_check(path: str | None, *, output: str) -> int:
    """Exit code 0 and what was understood, secrets masked; or exit code 2 and what is wrong."""
    settings = settings_from(path)
    if output == "json":
        print(json.dumps(settings.model_dump(mode="json"), ensure_ascii=False))
    else:
        names = ", ".join(cluster.name for cluster in settings.clusters)
        print(f"{path or 'defaults and environment'}: sound; clusters: {names or 'none'}")
    return 0
