"""Who asks: bearer tokens, and the groups of each. Knows a table of tokens; makes none."""

from collections.abc import Mapping
from dataclasses import replace
from hmac import compare_digest

from jangar.apiserver import errors
from jangar.apiserver.messages import ANONYMOUS, Request, User

AUTHENTICATED = "system:authenticated"


class Authenticator:
    """Finds the user of a request; without tokens everybody is the given one."""

    def __init__(self, tokens: Mapping[str, User], *, everybody: User | None = None) -> None:
        self._tokens = dict(tokens)
        self._everybody = everybody

    def authenticated(self, request: Request) -> Request:
        return replace(request, user=self._user(request))

    def user_of(self, token: str) -> User | None:
        """The user of a token; the comparison takes the same time for every token."""
        found = [
            user for known, user in self._tokens.items() if compare_digest(known.encode(), token.encode())
        ]
        return found[0] if found else None

    def _user(self, request: Request) -> User:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token:
            user = self.user_of(token.strip())
            if user is None:
                raise errors.unauthorized()
            return replace(user, groups=tuple(dict.fromkeys((*user.groups, AUTHENTICATED))))
        return self._everybody or ANONYMOUS
