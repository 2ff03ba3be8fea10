"""A PKCS12 trust store for Java from the certificates that Python's `ssl` trusts.

A bundled Java runtime knows nothing of the certificates an administrator added to the machine. Written by hand,
because importing some 140 certificates with `keytool` means starting Java 140 times. Layout: RFC 7292, unencrypted
certificate bags without a MAC, which Java reads when no password is given; each bag carries the attribute
`trustedKeyUsage` (2.16.840.1.113894.746875.1.1), without which Java treats the certificate as not trusted.
"""

import ssl
from pathlib import Path

_DATA = "1.2.840.113549.1.7.1"
_CERT_BAG = "1.2.840.113549.1.12.10.1.3"
_X509 = "1.2.840.113549.1.9.22.1"
_FRIENDLY_NAME = "1.2.840.113549.1.9.20"
_TRUSTED_KEY_USAGE = "2.16.840.1.113894.746875.1.1"
_ANY_USAGE = "2.5.29.37.0"


def _tlv(tag: int, body: bytes) -> bytes:
    size = len(body)
    if size < 0x80:
        return bytes([tag, size]) + body
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + body


def _sequence(*parts: bytes) -> bytes:
    return _tlv(0x30, b"".join(parts))


def _set(*parts: bytes) -> bytes:
    return _tlv(0x31, b"".join(parts))


def _octets(body: bytes) -> bytes:
    return _tlv(0x04, body)


def _explicit(body: bytes) -> bytes:
    return _tlv(0xA0, body)


def _oid(dotted: str) -> bytes:
    first, second, *rest = (int(part) for part in dotted.split("."))
    body = bytearray([first * 40 + second])
    for arc in rest:
        groups = [arc & 0x7F]
        while arc := arc >> 7:
            groups.append(0x80 | (arc & 0x7F))
        body += bytes(reversed(groups))
    return _tlv(0x06, bytes(body))


def _bag(name: str, certificate: bytes) -> bytes:
    cert_bag = _sequence(_oid(_X509), _explicit(_octets(certificate)))
    attributes = _set(
        _sequence(_oid(_FRIENDLY_NAME), _set(_tlv(0x1E, name.encode("utf-16-be")))),
        _sequence(_oid(_TRUSTED_KEY_USAGE), _set(_oid(_ANY_USAGE))),
    )
    return _sequence(_oid(_CERT_BAG), _explicit(cert_bag), attributes)


def pkcs12(certificates: list[bytes]) -> bytes:
    """A PKCS12 file that trusts these certificates (each in DER)."""
    bags = _sequence(*(_bag(f"ca-{index}", certificate) for index, certificate in enumerate(certificates)))
    safe = _sequence(_sequence(_oid(_DATA), _explicit(_octets(bags))))
    return _sequence(b"\x02\x01\x03", _sequence(_oid(_DATA), _explicit(_octets(safe))))


def trusted_certificates() -> list[bytes]:
    """What Python's `ssl` trusts, in DER; a folder of certificates is read too, as `ssl` itself loads it lazily."""
    found = dict.fromkeys(ssl.create_default_context().get_ca_certs(binary_form=True))
    folder = ssl.get_default_verify_paths().capath
    if not found and folder:
        for path in sorted(Path(folder).glob("*.0")):
            found[ssl.PEM_cert_to_DER_cert(path.read_text())] = None
    return list(found)


def write(path: Path) -> Path | None:
    """Write the store; None when Python trusts no certificate at all."""
    certificates = trusted_certificates()
    if not certificates:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pkcs12(certificates))
    return path
