"""Tokens of service accounts: what they claim, and whether that still holds. Knows stored accounts, no request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from picokube.apiserver.access_rules import account_groups, account_user_name
from picokube.apiserver.authentication import AUDIENCE, AUTHENTICATED, Known, Unknown
from picokube.apiserver.messages import User
from picokube.apiserver.strategies.pod import Find

if TYPE_CHECKING:
    from picokube.apiserver.account_key import AccountKey

JsonObject = dict[str, Any]

LEEWAY_SECONDS: Final = 60
_PRIVATE: Final = "kubernetes.io"
_BOUND: Final = {"pod": "pods", "secret": "secrets", "node": "nodes"}
_INVALIDATED: Final = Unknown(why="service account token has been invalidated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a token is to say."""

    account: JsonObject
    audiences: tuple[str, ...]
    seconds: int
    bound: dict[str, JsonObject]
    """`pod`, `secret` or `node` to the name and uid of the object with which the token ends."""


class AccountTokens:
    """Makes tokens and tells whose they are."""

    def __init__(
        self, key_file: Path, find: Find, clock: Callable[[], datetime], new_uid: Callable[[], str]
    ) -> None:
        self._key_file = key_file
        self._find = find
        self._clock = clock
        self._new_uid = new_uid

    def issued(self, grant: Grant) -> str:
        now, meta = int(self._clock().timestamp()), grant.account["metadata"]
        return self._key.sign(
            {
                "aud": list(grant.audiences),
                "exp": now + grant.seconds,
                "iat": now,
                "iss": AUDIENCE,
                "jti": self._new_uid(),
                _PRIVATE: {
                    "namespace": meta["namespace"],
                    **grant.bound,
                    "serviceaccount": {"name": meta["name"], "uid": meta["uid"]},
                },
                "nbf": now,
                "sub": account_user_name(meta["namespace"], meta["name"]),
            }
        )

    def known(self, token: str, audiences: Sequence[str]) -> Known | Unknown:
        claims = self._key.claims(token) if token.count(".") == 2 else None  # noqa: PLR2004 - dots of a JWT
        if claims is None or claims.get("iss") != AUDIENCE:
            return Unknown()
        meant = tuple(audience for audience in audiences if audience in claims["aud"])
        if not meant:
            return Unknown(
                why=f"token audiences {_quoted(claims['aud'])} is invalid for the target audiences {_quoted(audiences)}"
            )
        problem = self._untimely(claims) or self._outdated(claims[_PRIVATE])
        return problem or Known(user=_user(claims), audiences=meant)

    def _untimely(self, claims: JsonObject) -> Unknown | None:
        now = self._clock().timestamp()
        if now - LEEWAY_SECONDS > claims["exp"]:
            return Unknown(why="service account token has expired")
        if now + LEEWAY_SECONDS < claims["nbf"]:
            return Unknown(why="service account token is not valid yet")
        return None

    def _outdated(self, private: JsonObject) -> Unknown | None:
        """The account, and what the token is bound to, must still be the same objects."""
        namespace, claimed = private["namespace"], private["serviceaccount"]
        account = self._find("serviceaccounts", namespace, claimed["name"])
        if account is None:
            return Unknown(why=f'serviceaccounts "{claimed["name"]}" not found')
        uid = account["metadata"]["uid"]
        if uid != claimed["uid"]:
            return Unknown(why=f"service account UID ({uid}) does not match claim ({claimed['uid']})")
        for name, resource in _BOUND.items():
            if name not in private or (name == "node" and "pod" in private):
                continue
            bound = self._find(resource, "" if name == "node" else namespace, private[name]["name"])
            if bound is None or bound["metadata"]["uid"] != private[name]["uid"]:
                return _INVALIDATED
        return None

    @cached_property
    def _key(self) -> "AccountKey":
        # The library takes long to load, and most servers see no such token.
        from picokube.apiserver.account_key import ensure_account_key  # noqa: PLC0415

        return ensure_account_key(self._key_file)


def _user(claims: JsonObject) -> User:
    private = claims[_PRIVATE]
    extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)}
    for name in ("node", "pod"):
        for field in ("name", "uid"):
            if value := private.get(name, {}).get(field):
                extra[f"authentication.kubernetes.io/{name}-{field}"] = (value,)
    return User(
        name=claims["sub"],
        groups=(*account_groups(private["namespace"]), AUTHENTICATED),
        uid=private["serviceaccount"]["uid"],
        extra=extra,
    )


def _quoted(names: Sequence[str]) -> str:
    """As Go shows a list of strings."""
    return "[" + " ".join(f'"{name}"' for name in names) + "]"
