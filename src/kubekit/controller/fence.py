"""The last check before a write leaves: whoever lost the authority over an object while deciding about it is refused.

A pass says which object it is about (`acting_on`); its tasks inherit that. A process that stood still finds out here,
before its timers have told anybody that its authority is over; also if it stood still while it waited for a connection.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from typing import Final

from kubekit.client.errors import NotSent
from kubekit.client.transport import JSON, NO_QUERY, MayLeave, Response, Transport, always
from kubekit.controller.reconcile import Key

_ACTING_ON: ContextVar[Key | None] = ContextVar("acting_on", default=None)
_READS: Final = frozenset({"GET", "HEAD"})


class AuthorityLost(NotSent):
    """The write was for an object that this process may not act on any more; it never left."""


@contextmanager
def acting_on(key: Key) -> Iterator[None]:
    """What is written in this block is written for that object."""
    token = _ACTING_ON.set(key)
    try:
        yield
    finally:
        _ACTING_ON.reset(token)


def acted_on() -> Key | None:
    """The object that the code which asks acts on; None outside of any pass."""
    return _ACTING_ON.get()


class FencedTransport:
    """Another transport that sends no write for an object that `may_write` refuses. Writes for none are let through."""

    def __init__(self, transport: Transport, may_write: Callable[[Key], bool]) -> None:
        self._transport = transport
        self._may_write = may_write

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float,  # noqa: ASYNC109 - handed on
        may_leave: MayLeave = always,
    ) -> Response:
        key = _ACTING_ON.get()
        if key is None or method in _READS:
            look = may_leave
        else:
            look = self._look(key, may_leave)
            if not look():
                raise _lost(method, path, key)
        try:
            return await self._transport.request(
                method,
                path,
                query=query,
                body=body,
                content_type=content_type,
                timeout=timeout,
                may_leave=look,
            )
        except NotSent as error:
            if key is not None and not self._may_write(key):
                raise _lost(method, path, key) from error
            raise

    def _look(self, key: Key, may_leave: MayLeave) -> MayLeave:
        return lambda: self._may_write(key) and may_leave()

    def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._transport.stream(path, query=query, idle_timeout=idle_timeout)

    async def close(self) -> None:
        await self._transport.close()


def _lost(method: str, path: str, key: Key) -> AuthorityLost:
    return AuthorityLost(f"{method} {path} was not sent: another process may act on {key} now")
