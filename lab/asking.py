"""Plain HTTP to programs on this machine.

`httpx.get` and its like read all certificates that the machine trusts at every call: 25 ms of a processor. Whoever asks
ten times a second until something is true would keep a quarter of a processor busy.
"""

from functools import cache

import httpx


@cache
def local() -> httpx.Client:
    """A client for all threads of this process. It knows no proxy and keeps no connection: programs come and go."""
    return httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
