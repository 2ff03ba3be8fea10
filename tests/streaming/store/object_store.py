"""An object store that speaks as much of Amazon's S3 as pyarrow asks of it; objects are in memory."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

Objects = dict[str, bytes]
"""By bucket and key, `bucket/key`."""


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    objects: Objects

    def _told(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _xml(self, name: str, inner: str) -> None:
        self._told(200, f'<?xml version="1.0"?><{name}>{inner}</{name}>'.encode(), Content_Type="application/xml")

    def _asked(self) -> tuple[str, dict[str, list[str]], bytes]:
        where = urlsplit(self.path)
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._in_chunks()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "aws-chunked" in (self.headers.get("Content-Encoding") or ""):
            body = _unchunked(body)
        return unquote(where.path).strip("/"), parse_qs(where.query, keep_blank_values=True), body

    def _in_chunks(self) -> bytes:
        whole = b""
        while size := int(self.rfile.readline().strip(), 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def do_HEAD(self) -> None:
        key, _, _ = self._asked()
        found = self.objects.get(key)
        if found is None and "/" in key:
            self._told(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(found or b"")))
            self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
            self.end_headers()

    def do_GET(self) -> None:
        key, query, _ = self._asked()
        if "list-type" in query:
            prefix = f"{key}/{query.get('prefix', [''])[0]}"
            names = sorted(name for name in self.objects if name.startswith(prefix))
            each = "".join(
                f"<Contents><Key>{escape(name.split('/', 1)[1])}</Key><Size>{len(self.objects[name])}</Size></Contents>"
                for name in names
            )
            self._xml("ListBucketResult", f"<KeyCount>{len(names)}</KeyCount><IsTruncated>false</IsTruncated>{each}")
            return
        found = self.objects.get(key)
        if found is None:
            self._told(404)
            return
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if wanted is None:
            self._told(200, found)
            return
        start, end = int(wanted[1]), min(int(wanted[2]), len(found) - 1)
        self._told(206, found[start : end + 1], Content_Range=f"bytes {start}-{end}/{len(found)}")

    def do_PUT(self) -> None:
        key, query, body = self._asked()
        source = self.headers.get("x-amz-copy-source")
        if source is not None:
            self.objects[key] = self.objects[unquote(source).strip("/")]
            self._xml("CopyObjectResult", '<ETag>"e"</ETag>')
            return
        part = query.get("partNumber")
        self.objects[key if part is None else f"{key}?{int(part[0]):06}"] = body
        self._told(200, ETag='"e"')

    def do_POST(self) -> None:
        key, query, body = self._asked()
        if "uploads" in query:
            self._xml("InitiateMultipartUploadResult", "<UploadId>u</UploadId>")
        elif "uploadId" in query:
            parts = sorted(name for name in self.objects if name.startswith(f"{key}?"))
            self.objects[key] = b"".join(self.objects.pop(name) for name in parts)
            self._xml("CompleteMultipartUploadResult", '<ETag>"e"</ETag>')
        else:
            for name in re.findall(r"<Key>(.*?)</Key>", body.decode()):
                self.objects.pop(f"{key}/{name}", None)
            self._xml("DeleteResult", "")

    def do_DELETE(self) -> None:
        key, _, _ = self._asked()
        self.objects.pop(key, None)
        self._told(204)

    def log_message(self, *_: object) -> None:
        """Nothing is written to the terminal."""


def _unchunked(body: bytes) -> bytes:
    """Without the lengths that a client sends with each chunk."""
    whole, at = b"", 0
    while True:
        line = body.index(b"\r\n", at)
        size = int(body[at:line].split(b";")[0], 16)
        if size == 0:
            return whole
        whole += body[line + 2 : line + 2 + size]
        at = line + 2 + size + 2


@contextmanager
def object_store() -> Iterator[tuple[int, Objects]]:
    """Its port on loopback, and what it has."""
    objects: Objects = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Answers", (_Answers,), {"objects": objects}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], objects
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
