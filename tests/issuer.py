"""An issuer of short-lived tokens (OpenID Connect, client credentials) on loopback: a token endpoint and its keys."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.certificates import HOST

AUDIENCE, KEY_ID = "kafka", "one"


@dataclass(slots=True)
class Issuer:
    """`issued`: when each token was given, by the name of its client."""

    lasts_s: int
    clients: dict[str, str]
    private: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    url: str = ""
    issued: list[str] = field(default_factory=list)

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    @property
    def keys_url(self) -> str:
        return f"{self.url}/keys"

    def keys(self) -> dict[str, Any]:
        public = self.private.public_key().public_numbers()
        size = (public.n.bit_length() + 7) // 8
        numbers = {"n": _text(public.n.to_bytes(size, "big")), "e": _text(public.e.to_bytes(3, "big"))}
        return {"keys": [{"kty": "RSA", "kid": KEY_ID, "use": "sig", "alg": "RS256", **numbers}]}

    def token(self, client: str) -> dict[str, Any]:
        now_s = int(time.time())
        self.issued.append(client)
        claims = {"sub": client, "aud": AUDIENCE, "iss": self.url, "iat": now_s, "exp": now_s + self.lasts_s}
        parts = (
            {"alg": "RS256", "typ": "JWT", "kid": KEY_ID},
            {**claims, "jti": str(len(self.issued)), "scope": "kafka"},
        )
        signed = ".".join(_text(json.dumps(one).encode()) for one in parts)
        signature = self.private.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        token = f"{signed}.{_text(signature)}"
        return {"access_token": token, "token_type": "Bearer", "expires_in": self.lasts_s}


@contextmanager
def issuer(lasts_s: int, clients: dict[str, str]) -> Iterator[Issuer]:
    """`clients`: their secrets, by name."""
    made = Issuer(lasts_s, clients)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the library's name
            self._answer(200, made.keys())

        def do_POST(self) -> None:  # the library's name
            asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            scheme, _, login = self.headers.get("Authorization", "").partition(" ")
            name, _, secret = base64.b64decode(login).decode().partition(":")
            known = (
                scheme == "Basic" and made.clients.get(name) == secret and asked["grant_type"] == ["client_credentials"]
            )
            self._answer(*((200, made.token(name)) if known else (401, {"error": "invalid_client"})))

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer((HOST, 0), Handler)
    made.url = f"http://{HOST}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
