"""Certificates for servers and clients of tests, made when needed; keys on a curve, which are made quickly."""

from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"
FROM, UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate with its key; `files` writes both, PEM."""

    certificate: x509.Certificate
    private: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def key(self, passphrase: bytes | None = None) -> bytes:
        """PKCS#8 in PEM."""
        return self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(passphrase))

    def store(self, passphrase: bytes) -> bytes:
        """PKCS#12."""
        return pkcs12.serialize_key_and_certificates(
            b"own", self.private, self.certificate, None, BestAvailableEncryption(passphrase)
        )

    def files(self, folder: Path) -> dict[str, str]:
        """As the section `tls` of the configuration has them; files that stand there are replaced."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = {"certificate": folder / "tls.crt", "key": folder / "tls.key"}
        paths["certificate"].write_bytes(self.pem)
        paths["key"].write_bytes(self.key())
        return {name: str(path) for name, path in paths.items()}


@dataclass(frozen=True, slots=True)
class Authority:
    """Whose certificate a client trusts."""

    own: Issued

    @classmethod
    def made(cls) -> "Authority":
        private = ec.generate_private_key(ec.SECP256R1())
        name = _named("test authority")
        basic = x509.BasicConstraints(ca=True, path_length=0)
        built = _certificate(name, name, private, FROM, UNTIL).add_extension(basic, critical=True)
        return cls(Issued(built.sign(private, hashes.SHA256()), private))

    def issue(self, name: str, until: datetime = UNTIL) -> Issued:
        """For a server on this machine's loopback address, or a client of this name."""
        private = ec.generate_private_key(ec.SECP256R1())
        names = [x509.IPAddress(ip_address(HOST)), x509.DNSName("localhost")]
        built = _certificate(_named(name), self.own.certificate.subject, private, FROM, until)
        built = built.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return Issued(built.sign(self.own.private, hashes.SHA256()), private)

    def file(self, folder: Path) -> Path:
        """The authority's certificate."""
        path = folder / "authority.crt"
        path.write_bytes(self.own.pem)
        return path


def _certificate(
    subject: x509.Name, issuer: x509.Name, private: ec.EllipticCurvePrivateKey, since: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _encryption(passphrase: bytes | None) -> KeySerializationEncryption:
    return NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
