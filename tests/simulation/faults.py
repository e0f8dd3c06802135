"""What can go wrong between the controllers and the API server, by plan. A plan is plain data and reproduces a failure.

`Wire` is the connection of one life of the controllers: it counts writes, and can end that life at any of them. What a
dead process still has to say reaches nobody.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from jangar.kube.errors import Ambiguous, NotSent
from jangar.kube.transport import NO_QUERY, Response, Transport

READS = frozenset({"GET"})


class Death(StrEnum):
    """Where in a write the process is killed."""

    BEFORE_SEND = "before the request is sent"
    AFTER_COMMIT = "after the server has committed, before the answer"
    AFTER_ANSWER = "after the answer has arrived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Shares are chances of one request; all of it follows from the seed."""

    die_at: tuple[int, Death] | None = None
    """The write, counted from 1."""
    refusals: float = 0.0
    """429, 500, 503, 504 instead of an answer, nothing done."""
    conflicts: float = 0.0
    lost_answers: float = 0.0
    """The server commits, the client hears a reset, or nothing until it times out."""
    cut_watches: float = 0.0
    """Of each event."""
    lag: float = 0.0
    """Seconds by which events of watches may come late, in order."""
    until: float = float("inf")
    """Faults end at this time, so that everything can come to its end."""


@dataclass(slots=True)
class Wire:
    """A transport with faults."""

    transport: Transport
    faults: Faults
    random: Random
    on_death: Callable[[], None]
    writes: list[str] = field(default_factory=list)
    dead: bool = False

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NO_QUERY,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float,  # noqa: ASYNC109 - the protocol's
    ) -> Response:
        self._check_alive()
        if "/leases" in path or "/events" in path:
            return await self.transport.request(
                method, path, query=query, body=body, content_type=content_type, timeout=timeout
            )
        death = None
        if method not in READS:
            self.writes.append(f"{method} {path}")
            if self.faults.die_at is not None and self.faults.die_at[0] == len(self.writes):
                death = self.faults.die_at[1]
        if death is Death.BEFORE_SEND:
            await self._die()
        refusal = self._refusal(method)
        if refusal is not None:
            await asyncio.sleep(0.01)
            return refusal
        answer = await self.transport.request(
            method, path, query=query, body=body, content_type=content_type, timeout=timeout
        )
        if death is Death.AFTER_COMMIT:
            await self._die()
        if death is Death.AFTER_ANSWER:
            asyncio.get_running_loop().call_soon(self._end)
        if method not in READS and self._happens(self.faults.lost_answers):
            await asyncio.sleep(self.random.choice((0.0, timeout)))
            raise Ambiguous("the answer was lost on order")
        self._check_alive()
        return answer

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self._check_alive()
        async with self.transport.stream(path, query=query, idle_timeout=idle_timeout) as lines:
            yield self._lines(lines)

    async def close(self) -> None:
        await self.transport.close()

    async def _lines(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            if self._happens(self.faults.cut_watches):
                raise Ambiguous("the watch was cut on order")
            if self.faults.lag and self._is_open():
                await asyncio.sleep(self.random.random() * self.faults.lag)
            yield line

    def _refusal(self, method: str) -> Response | None:
        if method not in READS and method != "POST" and self._happens(self.faults.conflicts):
            return _status(409, "Conflict")
        if self._happens(self.faults.refusals):
            code, reason = self.random.choice(
                (
                    (429, "TooManyRequests"),
                    (500, "InternalError"),
                    (503, "ServiceUnavailable"),
                    (504, "Timeout"),
                )
            )
            return _status(code, reason)
        return None

    def _happens(self, share: float) -> bool:
        return bool(share) and self._is_open() and self.random.random() < share

    def _is_open(self) -> bool:
        return asyncio.get_running_loop().time() < self.faults.until

    def _check_alive(self) -> None:
        if self.dead:
            raise NotSent("this process is dead")

    async def _die(self) -> None:
        self._end()
        await asyncio.Event().wait()

    def _end(self) -> None:
        if not self.dead:
            self.dead = True
            self.on_death()


def _status(code: int, reason: str) -> Response:
    body = f'{{"kind":"Status","status":"Failure","code":{code},"reason":"{reason}","message":"on order"}}'
    return Response(code, {}, body.encode())
