"""The connection of one life of the controllers: it counts writes, injects the faults, and can end that life.

Requests of a dead process have no effect.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from kubekit.client.errors import Ambiguous, NotSent
from kubekit.client.transport import NO_QUERY, Response, Transport, WriteGuard, always
from simulation.faults import Death, Faults, Window

READS = frozenset({"GET"})
REFUSALS = ((429, "TooManyRequests"), (500, "InternalError"), (503, "ServiceUnavailable"), (504, "Timeout"))


Send: TypeAlias = Callable[[], Awaitable[Response]]


def _nothing(_: str) -> None:
    pass


@dataclass(slots=True)
class Wire:
    """A transport with faults."""

    transport: Transport
    faults: Faults
    random: Random
    on_death: Callable[[], None]
    on_write: Callable[[str], None] = _nothing
    """The time and request of each write when the process decides to send it, without leases."""
    writes: list[str] = field(default_factory=list)
    dead: bool = False
    _cut: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NO_QUERY,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float,  # noqa: ASYNC109 - the protocol's
        may_leave: WriteGuard = always,
    ) -> Response:
        self._check_alive()

        async def send() -> Response:
            return await self.transport.request(
                method,
                path,
                query=query,
                body=body,
                content_type=content_type,
                timeout=timeout,
                may_leave=may_leave,
            )

        if "/leases" in path or "/events" in path:
            answer = await self._carry(send, timeout)
        elif method in READS:
            answer = await self._exchange(method, send, timeout)
        else:
            answer = await self._write(method, path, send, timeout)
        self._check_alive()
        return answer

    async def _write(self, method: str, path: str, send: Send, timeout: float) -> Response:  # noqa: ASYNC109
        self.on_write(f"{method} {path}")
        self.writes.append(f"{method} {path}")
        at = self.faults.die_at
        death = at[1] if at is not None and at[0] == len(self.writes) else None
        if death is Death.BEFORE_SEND:
            await self._die()
        answer = await self._exchange(method, send, timeout)
        if death is Death.AFTER_COMMIT:
            await self._die()
        if death is Death.AFTER_ANSWER:
            asyncio.get_running_loop().call_soon(self.end)
        if self._happens(self.faults.lost_answers):
            await asyncio.sleep(self.random.choice((0.0, timeout)))
            raise Ambiguous("the response was lost by a fault")
        return answer

    async def _exchange(self, method: str, send: Send, timeout: float) -> Response:  # noqa: ASYNC109
        if self.faults.slow and self._is_open():
            await asyncio.sleep(self.random.random() * self.faults.slow)
        if self._happens(self.faults.lost_requests):
            raise Ambiguous("the request was lost by a fault")
        if self._happens(self.faults.hangs):
            await asyncio.sleep(timeout)
            raise Ambiguous("the request hung by a fault")
        refusal = self._refusal(method)
        if refusal is not None:
            await asyncio.sleep(0.01)
            return refusal
        return await self._carry(send, timeout)

    async def _carry(self, send: Send, timeout: float) -> Response:  # noqa: ASYNC109
        """Send and receive, unless the process is paused or disconnected."""
        await self._stand_still()
        await self._be_away(timeout)
        answer = await send()
        if _inside(self.faults.away):
            await asyncio.sleep(timeout)
            raise Ambiguous("the response was lost by a fault")
        await self._stand_still()
        return answer

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self._check_alive()
        await self._stand_still()
        await self._be_away(idle_timeout)
        async with self.transport.stream(path, query=query, idle_timeout=idle_timeout) as lines:
            yield self._lines(lines, idle_timeout)

    async def close(self) -> None:
        await self.transport.close()

    def cut_watches(self) -> None:
        """Cut all watches now."""
        self._cut.set()
        self._cut = asyncio.Event()

    def end(self) -> None:
        """The process dies."""
        if not self.dead:
            self.dead = True
            self.on_death()

    async def _lines(self, lines: AsyncIterator[bytes], idle_timeout: float) -> AsyncIterator[bytes]:
        before = b""
        async for line in _cuttable(self._cut, lines) if self.faults.compactions else lines:
            if self._happens(self.faults.cut_watches):
                raise Ambiguous("the watch was cut by a fault")
            if self._happens(self.faults.silent_watches):
                await asyncio.sleep(idle_timeout)
                raise Ambiguous("the watch was silent by a fault")
            if self.faults.lag and self._is_open():
                await asyncio.sleep(self.random.random() * self.faults.lag)
            await self._stand_still()
            await _until_end(self.faults.away)
            yield line
            if self._happens(self.faults.repeats):
                yield line
            if before and self._happens(self.faults.late):
                yield before
            before = line

    async def _stand_still(self) -> None:
        await _until_end(self.faults.paused)

    async def _be_away(self, timeout: float) -> None:  # noqa: ASYNC109 - what the caller waits for
        if _inside(self.faults.away):
            await asyncio.sleep(timeout)
            raise NotSent("no route: injected fault")

    def _refusal(self, method: str) -> Response | None:
        if method not in READS and method != "POST" and self._happens(self.faults.conflicts):
            return _status(409, "Conflict")
        if self._happens(self.faults.refusals):
            ways = [refusal for refusal in REFUSALS if self.faults.refused_with in (0, refusal[0])]
            return _status(*self.random.choice(ways))
        return None

    def _happens(self, share: float) -> bool:
        return bool(share) and self._is_open() and self.random.random() < share

    def _is_open(self) -> bool:
        return asyncio.get_running_loop().time() < self.faults.until

    def _check_alive(self) -> None:
        if self.dead:
            raise NotSent("this process is dead")

    async def _die(self) -> None:
        self.end()
        await asyncio.Event().wait()


async def _cuttable(cut: asyncio.Event, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    cutting = asyncio.create_task(cut.wait())
    try:
        while True:
            reading = asyncio.ensure_future(_next(lines))
            try:
                await asyncio.wait({reading, cutting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not reading.done():
                    reading.cancel()
                    await asyncio.gather(reading, return_exceptions=True)
            if cut.is_set():
                raise Ambiguous("the watch was cut by a fault")
            line = reading.result()
            if line is None:
                return
            yield line
    finally:
        cutting.cancel()
        await asyncio.gather(cutting, return_exceptions=True)


async def _next(lines: AsyncIterator[bytes]) -> bytes | None:
    return await anext(lines, None)


def _inside(windows: Sequence[Window]) -> float:
    """Seconds until the end of the current window; 0 outside."""
    if not windows:
        return 0.0
    now = asyncio.get_running_loop().time()
    return max((end - now for start, end in windows if start <= now < end), default=0.0)


async def _until_end(windows: Sequence[Window]) -> None:
    await asyncio.sleep(_inside(windows))


def _status(code: int, reason: str) -> Response:
    body = (
        f'{{"kind":"Status","status":"Failure","code":{code},"reason":"{reason}","message":"injected fault"}}'
    )
    return Response(code, {}, body.encode())
