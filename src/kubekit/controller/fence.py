"""Rejects writes for objects over which this process has lost authority, immediately before they are sent.

A pass declares its object with `acting_on`; its tasks inherit that. A process that was paused is stopped here even
before its lease timers fire, also if it was paused while it waited for a connection.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from typing import Final

from kubekit.client.errors import NotSent
from kubekit.client.transport import JSON, NO_QUERY, Response, Transport, WriteGuard, always
from kubekit.controller.reconcile import Key

_ACTING_ON: ContextVar[Key | None] = ContextVar("acting_on", default=None)
_READS: Final = frozenset({"GET", "HEAD"})


class AuthorityLost(NotSent):
    """The write was not sent, because this process has lost authority over the object."""


@contextmanager
def acting_on(key: Key) -> Iterator[None]:
    """Attribute the writes in this block to the object."""
    token = _ACTING_ON.set(key)
    try:
        yield
    finally:
        _ACTING_ON.reset(token)


def current_key() -> Key | None:
    """The object of the current pass; None outside of a pass."""
    return _ACTING_ON.get()


class FencedTransport:
    """Wraps a transport and rejects writes for objects that `may_write` denies. Writes outside a pass are allowed."""

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
        timeout: float,  # noqa: ASYNC109 - passed on
        may_leave: WriteGuard = always,
    ) -> Response:
        key = _ACTING_ON.get()
        if key is None or method in _READS:
            check = may_leave
        else:
            check = self._check(key, may_leave)
            if not check():
                raise _authority_lost(method, path, key)
        try:
            return await self._transport.request(
                method,
                path,
                query=query,
                body=body,
                content_type=content_type,
                timeout=timeout,
                may_leave=check,
            )
        except NotSent as error:
            if key is not None and not self._may_write(key):
                raise _authority_lost(method, path, key) from error
            raise

    def _check(self, key: Key, may_leave: WriteGuard) -> WriteGuard:
        return lambda: self._may_write(key) and may_leave()

    def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._transport.stream(path, query=query, idle_timeout=idle_timeout)

    async def close(self) -> None:
        await self._transport.close()


def _authority_lost(method: str, path: str, key: Key) -> AuthorityLost:
    return AuthorityLost(f"{method} {path} was not sent: another process may act on {key} now")
