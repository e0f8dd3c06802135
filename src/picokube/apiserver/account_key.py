"""The key that signs tokens of service accounts, made once and kept in a file of its owner's. Knows JWS, no claims."""

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

_SIZE = 32
_ALGORITHM = ec.ECDSA(hashes.SHA256())


class AccountKey:
    """Signs with ES256, and reads what it signed."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        public = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.id = _encoded(hashlib.sha256(public).digest())

    def signed(self, claims: dict[str, Any]) -> str:
        head = {"alg": "ES256", "kid": self.id}
        text = f"{_encoded(orjson.dumps(head))}.{_encoded(orjson.dumps(claims))}"
        r, s = decode_dss_signature(self._key.sign(text.encode(), _ALGORITHM))
        return f"{text}.{_encoded(r.to_bytes(_SIZE, 'big') + s.to_bytes(_SIZE, 'big'))}"

    def claims(self, token: str) -> dict[str, Any] | None:
        """What a token says, if this key has signed it."""
        try:
            head, body, signature = [_decoded(part) for part in token.split(".")]
            if orjson.loads(head).get("alg") != "ES256" or len(signature) != 2 * _SIZE:
                return None
            numbers = (
                int.from_bytes(signature[:_SIZE], "big"),
                int.from_bytes(signature[_SIZE:], "big"),
            )
            signed = token.rpartition(".")[0].encode()
            self._key.public_key().verify(encode_dss_signature(*numbers), signed, _ALGORITHM)
            found = orjson.loads(body)
        except (ValueError, AttributeError, InvalidSignature):
            return None
        return found if isinstance(found, dict) else None


def ensure_account_key(path: Path) -> AccountKey:
    """The key in this file, which is made if it is not there."""
    if not path.exists():
        _make(path)
    found = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{path} holds no key of an elliptic curve: move it away, and a new one is made")
    return AccountKey(found)


def _make(path: Path) -> None:
    """Complete, or not there at all."""
    pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
