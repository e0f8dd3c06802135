"""Installation tokens of GitHub Apps: signs in with the app's private key and stores nothing.

The key is read when needed and never leaves this module; errors include only the status of a response, not its body.
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
from jangar.domain.policies.policy import PROVIDER_HOSTS
from jangar.domain.policies.policy_checks import is_allowed_host
from kubekit.client.api_client import Client
from kubekit.client.builtin import SECRETS
from kubekit.client.errors import NotFound

REQUEST_TIMEOUT_SECONDS: Final = 10.0
MAX_RESPONSE_BYTES: Final = 64 * 1024
CLOCK_DRIFT: Final = timedelta(seconds=60)
SIGN_IN_LIFETIME: Final = timedelta(minutes=9)
"""GitHub rejects sign-ins that are valid for more than ten minutes."""
_CREATED: Final = 201
_TOO_MANY_REQUESTS: Final = 429
_SERVER_FAILURES: Final = 500


class SignInRefused(Exception):
    """A retry would not help; the message says what to check."""


class SignInUnavailable(Exception):
    """The host does not respond now."""


class AppTokens:
    """Creates tokens."""

    def __init__(
        self, client: Client, now: Callable[[], datetime], *, hosts: tuple[str, ...] = PROVIDER_HOSTS
    ) -> None:
        """`hosts` are the hosts to which sign-ins may be sent."""
        self._client = client
        self._now = now
        self._hosts = hosts

    async def create(self, token: AppToken, namespace: str) -> str:
        """A new token. Raises SignInRefused, SignInUnavailable, ApiError."""
        if not is_allowed_host(token.url, self._hosts):
            raise SignInRefused(
                f"{token.url} is not on a host that the operator allows: the app did not sign in there; "
                "see controller.admissionPolicy.providerHosts.allowed"
            )
        key = await self._key(token, namespace)
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {sign_in(key, token.app_id, self._now())}",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "jangar",
        }
        limit = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit, trust_env=True) as session,
                session.post(
                    token.url, json=dict(token.body), headers=headers, allow_redirects=False
                ) as answer,
            ):
                content = await answer.content.read(MAX_RESPONSE_BYTES)
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
            # Without the text of the error, which may quote the key.
            raise SignInRefused(f"{where}: is no RSA private key in PEM form") from error


def _private_key(pem: bytes) -> RSAPrivateKey:
    key = load_pem_private_key(pem, password=None)
    if not isinstance(key, RSAPrivateKey):
        raise TypeError("another kind of key")
    return key


def sign_in(key: RSAPrivateKey, app_id: str, now: datetime) -> str:
    """The sign-in of an app as a JSON Web Token (RFC 7519) with RS256."""
    claims = {
        "iat": int((now - CLOCK_DRIFT).timestamp()),
        "exp": int((now + SIGN_IN_LIFETIME).timestamp()),
        "iss": app_id,
    }
    signing_input = b".".join(
        _base64(orjson.dumps(item)) for item in ({"alg": "RS256", "typ": "JWT"}, claims)
    )
    return (
        signing_input + b"." + _base64(key.sign(signing_input, padding.PKCS1v15(), hashes.SHA256()))
    ).decode()


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _token(status: int, content: bytes, url: str) -> str:
    if status >= _SERVER_FAILURES or status == _TOO_MANY_REQUESTS:
        raise SignInUnavailable(f"{url} answers {status}")
    if status != _CREATED:
        raise SignInRefused(
            f"{url} answers {status}: check appId, installationId, the private key, and what the app may do"
        )
    try:
        response: Any = orjson.loads(content)
        token = response["token"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise SignInRefused(f"{url} answers without a token: check apiBaseUrl") from error
    if not isinstance(token, str) or not token:
        raise SignInRefused(f"{url} answers without a token: check apiBaseUrl")
    return token
