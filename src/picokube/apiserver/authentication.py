"""Who asks: tokens from a table, and those of service accounts. Makes none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hmac import compare_digest
from typing import Protocol

from picokube.apiserver import errors
from picokube.apiserver.messages import ANONYMOUS, Request, User

AUTHENTICATED = "system:authenticated"
AUDIENCE = "https://kubernetes.default.svc"
"""Tokens for this one are meant for the server itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Whose a token is, and for whom it was made, of those who were asked about."""

    user: User
    audiences: tuple[str, ...] = (AUDIENCE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A token that identifies no user; TokenReview reports the reason."""

    why: str = ""


class Accounts(Protocol):
    """Tells service accounts by their tokens."""

    def known(self, token: str, audiences: Sequence[str]) -> Known | Unknown: ...


class Authenticator:
    """Finds the user of a request; without a token everybody is the given one."""

    def __init__(
        self, tokens: Mapping[str, User], *, everybody: User | None = None, accounts: Accounts | None = None
    ) -> None:
        self._tokens = {token: _authenticated(user) for token, user in tokens.items()}
        self._everybody = _authenticated(everybody) if everybody else ANONYMOUS
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

    def known(self, token: str, audiences: Sequence[str] = ()) -> Known | Unknown:
        """The user of a token; the comparison takes the same time for every token of the table."""
        asked = tuple(audiences) or (AUDIENCE,)
        found = [
            user for known, user in self._tokens.items() if compare_digest(known.encode(), token.encode())
        ]
        if found:
            return Known(user=found[0]) if AUDIENCE in asked else Unknown()
        return self._accounts.known(token, asked) if self._accounts else Unknown()

    def _user(self, request: Request) -> User:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token:
            match self.known(token.strip()):
                case Known(user=user):
                    return user
                case Unknown():
                    raise errors.unauthorized()
        return self._everybody


def _authenticated(user: User) -> User:
    return replace(user, groups=tuple(dict.fromkeys((*user.groups, AUTHENTICATED))))
