"""Tokens of GitHub Apps: the app signs in with its private key, and gets one for its installation. Keeps none.

The key is read when it is needed and never leaves this module; what an API says is told by its status alone.
"""

import asyncio
import base64
import binascii
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import aiohttp
import orjson
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from jangar.domain.job_execution.command import AppToken
from jangar.domain.policies.pod_policy_checks import is_allowed_host
from jangar.domain.policies.policy import PROVIDER_HOSTS
from kubekit.client.api_client import Client
from kubekit.client.builtin import SECRETS
from kubekit.client.errors import NotFound

SECONDS: Final = 10.0
MAX_LENGTH: Final = 64 * 1024
CLOCK_DRIFT: Final = timedelta(seconds=60)
LIFE: Final = timedelta(minutes=9)
"""Of the sign-in itself; GitHub takes none of more than ten."""
_CREATED: Final = 201
_TOO_MANY: Final = 429
_SERVER_FAILURES: Final = 500


class SignInRefused(Exception):
    """Trying again would not help; says what to look at."""


class SignInUnavailable(Exception):
    """The host cannot be asked now."""


class AppTokens:
    """Makes tokens."""

    def __init__(
        self, client: Client, now: Callable[[], datetime], *, hosts: tuple[str, ...] = PROVIDER_HOSTS
    ) -> None:
        """`hosts` are those that a sign-in may be sent to."""
        self._client = client
        self._now = now
        self._hosts = hosts

    async def make(self, token: AppToken, namespace: str) -> str:
        """A new one. Raises SignInRefused, SignInUnavailable, ApiError."""
        if not is_allowed_host(token.url, self._hosts):
            raise SignInRefused(
                f"{token.url} is not on a host that the operator allows: the app did not sign in there; "
                "see controller.admissionPolicy.providerHosts.allowed"
            )
        key = await self._key(token, namespace)
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {signed(key, token.app_id, self._now())}",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "jangar",
        }
        limit = aiohttp.ClientTimeout(total=SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit, trust_env=True) as session,
                session.post(
                    token.url, json=dict(token.body), headers=headers, allow_redirects=False
                ) as answer,
            ):
                content = await answer.content.read(MAX_LENGTH)
                return _token(answer.status, content, token.url)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SignInUnavailable(f"{token.url} cannot be reached: {type(error).__name__}") from error

    async def _key(self, token: AppToken, namespace: str) -> RSAPrivateKey:
        where = f"Secret {token.secret}, key {token.key}"
        try:
            secret = await self._client.get(SECRETS, token.secret, namespace)
        except NotFound as error:
            raise SignInRefused(f"{where}: there is no such Secret; it should hold the app's key") from error
        encoded = (secret.get("data") or {}).get(token.key)
        if not encoded:
            raise SignInRefused(f"{where}: is empty; it should hold the app's private key")
        try:
            return await asyncio.to_thread(_private_key, base64.b64decode(encoded))
        except (ValueError, TypeError, binascii.Error, UnsupportedAlgorithm) as error:
            # Not the error's own words: they may quote what they could not read.
            raise SignInRefused(f"{where}: is no RSA private key in PEM form") from error


def _private_key(pem: bytes) -> RSAPrivateKey:
    key = load_pem_private_key(pem, password=None)
    if not isinstance(key, RSAPrivateKey):
        raise TypeError("another kind of key")
    return key


def signed(key: RSAPrivateKey, app_id: str, now: datetime) -> str:
    """The sign-in of an app: a JSON Web Token (RFC 7519) with RS256."""
    claims = {
        "iat": int((now - CLOCK_DRIFT).timestamp()),
        "exp": int((now + LIFE).timestamp()),
        "iss": app_id,
    }
    said = b".".join(_base64(orjson.dumps(item)) for item in ({"alg": "RS256", "typ": "JWT"}, claims))
    return (said + b"." + _base64(key.sign(said, padding.PKCS1v15(), hashes.SHA256()))).decode()


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _token(status: int, content: bytes, url: str) -> str:
    if status >= _SERVER_FAILURES or status == _TOO_MANY:
        raise SignInUnavailable(f"{url} answers {status}")
    if status != _CREATED:
        raise SignInRefused(
            f"{url} answers {status}: check appId, installationId, the private key, and what the app may do"
        )
    try:
        read: Any = orjson.loads(content)
        found = read["token"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise SignInRefused(f"{url} answers without a token: check apiBaseUrl") from error
    if not isinstance(found, str) or not found:
        raise SignInRefused(f"{url} answers without a token: check apiBaseUrl")
    return found
