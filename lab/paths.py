"""Where the lab keeps things; all of it inside the clone."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build"
CONF = ROOT / "conf"
KAFKA_JARS = BUILD / "jars"
IVY_CACHE = BUILD / "ivy-cache"
