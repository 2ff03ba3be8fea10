"""Servers that misbehave below HTTP, on a real socket, with TLS where a certificate is given."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def endless(connection: socket.socket) -> None:
    """An accepting answer whose body never ends."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
    while not GONE.wait(0.05):
        connection.sendall(b"x")


def silent(connection: socket.socket) -> None:
    """No answer at all."""
    while connection.recv(65_536):
        pass


def accepting(connection: socket.socket) -> None:
    connection.sendall(OK)


def saying(text: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(text)


GONE = threading.Event()


@contextmanager
def rude(answer: Callable[[socket.socket], None], certificate: Path | None = None) -> Iterator[int]:
    """The port of a server that reads a request's beginning and then does `answer`, for every connection."""
    GONE.clear()
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = listening.accept()
            except OSError:
                return
            # A client that does not trust the certificate, or loses patience, hangs up.
            with suppress(OSError), plain:
                connection = plain if context is None else context.wrap_socket(plain, server_side=True)
                connection.recv(65_536)
                answer(connection)
                connection.shutdown(socket.SHUT_RDWR)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        GONE.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)


def self_signed(folder: Path, name: str) -> Path:
    """A certificate for this name or address, with its key, in one file."""
    path = folder / "server.pem"
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName={'IP' if name[0].isdigit() else 'DNS'}:{name}"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject,
         "-keyout", folder / "key", "-out", folder / "crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_bytes((folder / "key").read_bytes() + (folder / "crt").read_bytes())
    return path
