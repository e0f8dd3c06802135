"""The seam between the client and the way to a server: bytes there, bytes back, and lines that keep coming."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias

NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})
JSON: Final = "application/json"

MayLeave: TypeAlias = Callable[[], bool]
"""Asked at the last moment before a write is on its way."""


def always() -> bool:
    """For a write that nothing holds back."""
    return True


class Response(NamedTuple):
    """An answer, refusing or not. Headers are named in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """A way to one API server, as one user."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float,  # noqa: ASYNC109 - what is said when it passes depends on how far the request came
        may_leave: MayLeave = always,
    ) -> Response:
        """Ask once, never twice. Raises NotSent if the request surely did nothing, Ambiguous if it may have.

        With a body, `may_leave` is asked when there is a connection and nothing but the writing is left to do; its
        refusal is NotSent.
        """

    def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The lines of an answer without end. Raises what a refusal says, and Ambiguous when the stream breaks or
        is silent for `idle_timeout` seconds. Leaving the context ends the request.
        """

    async def close(self) -> None:
        """End what is under way."""
