"""A server's certificate in files: what is wrong with it, and TLS connections that follow the files when they change.

Certificate  of a server: each handshake looks at the two files; where they changed, they are loaded
Pinned       of a client on the same machine: trusts the certificate in the file, whatever names it holds
"""

import os
import re
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

from .section import ConfigError
from .sections import TlsSection
from .settings import Settings

_CERTIFICATE = "-----BEGIN CERTIFICATE-----"
_KEY = re.compile(r"-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----")
_NO_CHECK_TIME = 0x200000
"""OpenSSL's flag X509_V_FLAG_NO_CHECK_TIME, which `ssl` has no name for."""
_Seen = tuple[tuple[int, int, int] | None, ...]
Report = Callable[[str | None], None]
"""Is called when changed files were read: with the problem if they cannot be used, else with None."""


class _Encrypted(Exception):
    """The key has a passphrase; without this the library would ask for it on the terminal."""


def unusable(settings: Settings) -> list[str]:
    """One sentence for each configured certificate that no server could use."""
    given = [("http.tls", settings.http.tls)]
    if settings.page.enabled:
        given.append(("page.tls", settings.page.tls))
    problems = []
    for name, tls in given:
        try:
            if tls is not None:
                _loaded(name, tls)
        except ConfigError as why:
            problems.append(str(why))
    return problems


class Certificate:
    """Of a server, for any number of threads. `name`: the key of the configuration, for sentences. ConfigError where
    the files cannot be used at the start; later the certificate before stays in use, and `report` is called."""

    def __init__(self, name: str, tls: TlsSection, report: Report) -> None:
        self._name, self._tls, self._report = name, tls, report
        self._lock = threading.Lock()
        self._seen = _seen(tls.certificate, tls.key)
        self._newest = self.context = _loaded(name, tls)
        self.context.sni_callback = self._greeted

    def _greeted(self, connection: ssl.SSLObject | ssl.SSLSocket, asked: str | None, context: ssl.SSLContext) -> None:
        """OpenSSL calls this when a handshake begins, also for a client that names no server."""
        connection.context = self._read()

    def _read(self) -> ssl.SSLContext:
        with self._lock:
            # Looked at before it is read: what changes in between is read at the next handshake.
            seen = _seen(self._tls.certificate, self._tls.key)
            if seen != self._seen:
                self._seen, problem = seen, None
                try:
                    self._newest = _loaded(self._name, self._tls)
                except ConfigError as why:
                    problem = f"{why}; the certificate read before stays in use"
                self._report(problem)
            return self._newest


class Pinned:
    """What a client trusts that asks the server of this very configuration. The name is not compared, because it asks
    by the address where the server listens, and the time is not, because the answer says more than a failure would."""

    def __init__(self, tls: TlsSection) -> None:
        self._file, self._seen = tls.certificate, _seen()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VerifyFlags(_NO_CHECK_TIME)
        self.look()

    def look(self) -> None:
        """Before a request: the file may hold another certificate than it did."""
        seen = _seen(self._file)
        if seen != self._seen:
            self._seen = seen
            try:
                self.context.load_verify_locations(self._file)
            except (OSError, ValueError):
                return  # the server says what is wrong with it


def _seen(*files: Path) -> _Seen:
    """Changes when a file is written, replaced, or reached through another link; None for one that is not there."""
    found: list[tuple[int, int, int] | None] = []
    for path in files:
        try:
            stat = os.stat(path)
            found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except OSError:
            found.append(None)
    return tuple(found)


def _loaded(name: str, tls: TlsSection) -> ssl.SSLContext:
    """ConfigError with one sentence; no byte of a key stands in it."""
    certificate, key = tls.certificate, tls.key
    if _CERTIFICATE not in _text(f"{name}.certificate", certificate):
        raise ConfigError(
            f"{name}.certificate: {certificate} holds no certificate in PEM form; write one, for example with: "
            f"openssl x509 -inform DER -in {certificate} -out certificate.pem"
        )
    if _KEY.search(_text(f"{name}.key", key)) is None:
        raise ConfigError(
            f"{name}.key: {key} holds no private key in PEM form; write one, for example with: "
            f"openssl pkey -inform DER -in {key} -out key.pem"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=_no_passphrase)
    except _Encrypted:
        raise ConfigError(
            f"{name}.key: {key} is encrypted; give a key without a passphrase: openssl pkey -in {key} -out key.pem"
        ) from None
    except (OSError, ValueError) as why:
        reason = str(getattr(why, "reason", None) or getattr(why, "strerror", None) or type(why).__name__)
        if reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
            raise ConfigError(
                f"{name}: the key in {key} does not belong to the first certificate in {certificate}; "
                "give the two that were made together, the server's own certificate first"
            ) from None
        raise ConfigError(
            f"{name}: OpenSSL does not take the certificate in {certificate} with the key in {key} "
            f"({reason.lower().replace('_', ' ')}); make both anew"
        ) from None
    return context


def _text(key: str, path: Path) -> str:
    try:
        return path.read_text(encoding="latin-1")
    except OSError as why:
        raise ConfigError(
            f"{key}: {path} cannot be read ({why.strerror or why}); correct the path, or let the monitor's user read it"
        ) from None


def _no_passphrase() -> str:
    raise _Encrypted
