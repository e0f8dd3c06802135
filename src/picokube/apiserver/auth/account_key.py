"""The key that signs service account tokens, created once and kept in a private file."""

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

ALGORITHM = "ES256"
_SIGNATURE_ONLY: Any = {
    "verify_signature": True,
    **{f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")},
}
"""Token reviews check times and audiences themselves, with their own clock and messages."""


class AccountKey:
    """Signs claims as JSON Web Tokens with ES256, and verifies them."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        public = key.public_key()
        self._pem = public.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.id = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()

    def sign(self, claims: dict[str, Any]) -> str:
        """A token with these claims."""
        return jwt.encode(claims, self._key, algorithm=ALGORITHM, headers={"kid": self.id, "typ": None})

    def claims(self, token: str) -> dict[str, Any] | None:
        """The claims of a token that this key signed; None for any other. Times and audiences are not checked."""
        try:
            return jwt.decode(token, self._pem, algorithms=[ALGORITHM], options=_SIGNATURE_ONLY)
        except (jwt.InvalidTokenError, ValueError):
            return None


def ensure_account_key(path: Path) -> AccountKey:
    """The key in this file, which is made if it is not there."""
    if not path.exists():
        _create(path)
    found = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{path} holds no key of an elliptic curve: move it away, and a new one is made")
    return AccountKey(found)


def _create(path: Path) -> None:
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
