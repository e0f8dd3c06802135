"""Identifies users by tokens: those of a table, and JSON Web Tokens of service accounts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from picokube.apiserver.auth.access import account_groups, account_user_name
from picokube.apiserver.kinds.resources import Find
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.go_text import quoted_list
from picokube.apiserver.protocol.messages import ANONYMOUS, JsonObject, Request, User

AUTHENTICATED = "system:authenticated"
AUDIENCE = "https://kubernetes.default.svc"
"""Tokens for this one are meant for the server itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOwner:
    """The user of a token, and those of the requested audiences that it is valid for."""

    user: User
    audiences: tuple[str, ...] = (AUDIENCE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidToken:
    """A token that identifies no user; TokenReview reports the reason."""

    why: str = ""


class TokenVerifier(Protocol):
    """Identifies service accounts by their tokens."""

    def known(self, token: str, audiences: Sequence[str]) -> TokenOwner | InvalidToken: ...


class Authenticator:
    """Finds the user of a request; requests without a token have the given user, if any."""

    def __init__(
        self,
        tokens: Mapping[str, User],
        *,
        tokenless_user: User | None = None,
        accounts: TokenVerifier | None = None,
    ) -> None:
        self._tokens = {token: _authenticated(user) for token, user in tokens.items()}
        self._tokenless_user = _authenticated(tokenless_user) if tokenless_user else ANONYMOUS
        self._accounts = accounts

    def authenticated(self, request: Request) -> Request:
        return Request(
            method=request.method,
            path=request.path,
            query=request.query,
            headers=request.headers,
            body=request.body,
            user=self._user(request),
        )

    def known(self, token: str, audiences: Sequence[str] = ()) -> TokenOwner | InvalidToken:
        """The user of a token; the comparison takes the same time for every token of the table."""
        requested = tuple(audiences) or (AUDIENCE,)
        found = [
            user for known, user in self._tokens.items() if compare_digest(known.encode(), token.encode())
        ]
        if found:
            return TokenOwner(user=found[0]) if AUDIENCE in requested else InvalidToken()
        return self._accounts.known(token, requested) if self._accounts else InvalidToken()

    def _user(self, request: Request) -> User:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token:
            match self.known(token.strip()):
                case TokenOwner(user=user):
                    return user
                case InvalidToken():
                    raise errors.unauthorized()
        return self._tokenless_user


def _authenticated(user: User) -> User:
    return replace(user, groups=tuple(dict.fromkeys((*user.groups, AUTHENTICATED))))


if TYPE_CHECKING:
    from picokube.apiserver.auth.account_key import AccountKey

LEEWAY_SECONDS: Final = 60
_PRIVATE_CLAIM: Final = "kubernetes.io"
_BOUND_RESOURCES: Final = {"pod": "pods", "secret": "secrets", "node": "nodes"}
_INVALIDATED: Final = InvalidToken(why="service account token has been invalidated")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenClaims:
    """What a token is to say."""

    account: JsonObject
    audiences: tuple[str, ...]
    seconds: int
    bound: dict[str, JsonObject]
    """`pod`, `secret` or `node` to the name and uid of the object with which the token ends."""


class AccountTokens:
    """Issues tokens and verifies them."""

    def __init__(
        self, key_file: Path, find: Find, clock: Callable[[], datetime], new_uid: Callable[[], str]
    ) -> None:
        self._key_file = key_file
        self._find = find
        self._clock = clock
        self._new_uid = new_uid

    def issued(self, grant: TokenClaims) -> str:
        now, meta = int(self._clock().timestamp()), grant.account["metadata"]
        return self._key.sign(
            {
                "aud": list(grant.audiences),
                "exp": now + grant.seconds,
                "iat": now,
                "iss": AUDIENCE,
                "jti": self._new_uid(),
                _PRIVATE_CLAIM: {
                    "namespace": meta["namespace"],
                    **grant.bound,
                    "serviceaccount": {"name": meta["name"], "uid": meta["uid"]},
                },
                "nbf": now,
                "sub": account_user_name(meta["namespace"], meta["name"]),
            }
        )

    def known(self, token: str, audiences: Sequence[str]) -> TokenOwner | InvalidToken:
        claims = self._key.claims(token) if token.count(".") == 2 else None  # noqa: PLR2004 - dots of a JWT
        if claims is None or claims.get("iss") != AUDIENCE:
            return InvalidToken()
        meant = tuple(audience for audience in audiences if audience in claims["aud"])
        if not meant:
            held, wanted = quoted_list(claims["aud"]), quoted_list(audiences)
            return InvalidToken(why=f"token audiences {held} is invalid for the target audiences {wanted}")
        problem = self._untimely(claims) or self._outdated(claims[_PRIVATE_CLAIM])
        return problem or TokenOwner(user=_token_user(claims), audiences=meant)

    def _untimely(self, claims: JsonObject) -> InvalidToken | None:
        now = self._clock().timestamp()
        if now - LEEWAY_SECONDS > claims["exp"]:
            return InvalidToken(why="service account token has expired")
        if now + LEEWAY_SECONDS < claims["nbf"]:
            return InvalidToken(why="service account token is not valid yet")
        return None

    def _outdated(self, private: JsonObject) -> InvalidToken | None:
        """The account, and what the token is bound to, must still be the same objects."""
        namespace, claimed = private["namespace"], private["serviceaccount"]
        account = self._find("serviceaccounts", namespace, claimed["name"])
        if account is None:
            return InvalidToken(why=f'serviceaccounts "{claimed["name"]}" not found')
        uid = account["metadata"]["uid"]
        if uid != claimed["uid"]:
            return InvalidToken(why=f"service account UID ({uid}) does not match claim ({claimed['uid']})")
        for name, resource in _BOUND_RESOURCES.items():
            if name not in private or (name == "node" and "pod" in private):
                continue
            bound = self._find(resource, "" if name == "node" else namespace, private[name]["name"])
            if bound is None or bound["metadata"]["uid"] != private[name]["uid"]:
                return _INVALIDATED
        return None

    @cached_property
    def _key(self) -> "AccountKey":
        # The library takes long to load, and most servers see no such token.
        from picokube.apiserver.auth.account_key import ensure_account_key  # noqa: PLC0415

        return ensure_account_key(self._key_file)


def _token_user(claims: JsonObject) -> User:
    private = claims[_PRIVATE_CLAIM]
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
