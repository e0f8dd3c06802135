"""The part of GitHub's API that apps use to sign in, as a real HTTP server on this machine; it validates requests."""

import base64
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

APP, INSTALLATION = "4711", "42"
MAX_SIGN_IN = 600


@dataclass
class GitHubApi:
    """Issues tokens to callers with the app's key; the next `failures` responses are 503."""

    failures: int = 0
    requests: list[dict] = field(default_factory=list)
    """The bodies of valid requests."""
    given: list[str] = field(default_factory=list)

    def __post_init__(self):
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = api.answer(self.path, self.headers.get("Authorization") or "", body)
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def private_key(self):
        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ).decode()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path, authorization, body):
        if self.failures:
            self.failures -= 1
            return 503, {"message": "Service unavailable"}
        if not self._is_signed_in(authorization):
            return 401, {"message": "A JSON web token could not be decoded"}
        if path != f"/app/installations/{INSTALLATION}/access_tokens":
            return 404, {"message": "Not Found"}
        self.requests.append(json.loads(body))
        self.given.append(f"ghs_{len(self.given)}canary{int(time.time() * 1000)}")
        return 201, {"token": self.given[-1], "expires_at": "2099-01-01T00:00:00Z", "permissions": {}}

    def _is_signed_in(self, authorization):
        try:
            signed, _, signature = authorization.removeprefix("Bearer ").rpartition(".")
            claims = json.loads(_decoded(signed.split(".")[1]))
            self._key.public_key().verify(
                _decoded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
            )
        except (InvalidSignature, ValueError, IndexError):
            return False
        fresh = claims["iat"] <= time.time() < claims["exp"] <= claims["iat"] + MAX_SIGN_IN
        return fresh and claims["iss"] == APP


def _decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
