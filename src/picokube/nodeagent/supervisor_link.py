"""The agent's end of the socket to the supervisor: starts it where none runs, and finds it again after a break."""

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson

from picokube.nodeagent.supervisor.orders import (
    Refusal,
    Run,
    RunKey,
    StartContainer,
    order_to_json,
    run_from_json,
)

log = logging.getLogger("picokube.nodeagent")

LONGEST_LINE = 64 * 1024 * 1024
LONGEST_SOCKET_PATH = 100
START_TIMEOUT = 30.0
RETRY_SECONDS = 0.2

Listener = Callable[[Run], None]


class SupervisorGone(Exception):
    """The answer to an order is not known; asking again after the link is back is safe."""


class StartRefused(Exception):
    """A container cannot be started now, and was not; asking again later is safe."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class SupervisorLink:
    """What is known of every container, kept up to date by what the supervisor says."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._runs: dict[RunKey, Run] = {}
        self._by_pod: dict[str, dict[RunKey, Run]] = {}
        self._listeners: list[Listener] = []
        self._waiting: dict[int, asyncio.Future[Run]] = {}
        self._number = 0
        self._writer: asyncio.StreamWriter | None = None
        self._up = asyncio.Event()
        self.problem: Exception | None = None
        """Why there is no link; None while there is one."""
        self.namespaces = False
        self.isolation = ""
        self.pid = 0

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def runs_of(self, pod: str) -> list[Run]:
        return list(self._by_pod.get(pod, {}).values())

    def pods(self) -> Iterable[str]:
        return list(self._by_pod)

    @property
    def is_up(self) -> bool:
        return self._up.is_set()

    async def connected(self) -> None:
        """Until everything that is known has been told."""
        await self._up.wait()

    async def run(self) -> None:
        """Keep the link; ends only when cancelled."""
        while True:
            try:
                await self._follow(*await self._connect())
            except (OSError, ValueError, RuntimeError, SupervisorGone) as error:
                # RuntimeError: no thread can be started that would wait for the new process.
                is_known = str(error) == str(self.problem)
                self.problem = error
                log.log(
                    logging.DEBUG if is_known else logging.WARNING, "no link to the supervisor: %s", error
                )
                await asyncio.sleep(RETRY_SECONDS)
            finally:
                self._break()

    async def start(self, order: StartContainer) -> Run:
        """Start a container once; what is known of it if it was started before. Raises SupervisorGone, StartRefused."""
        if self._writer is None:
            raise SupervisorGone
        self._number += 1
        answer: asyncio.Future[Run] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = answer
        self._send({"start": order_to_json(order), "id": self._number})
        return await answer

    def stop(self, key: RunKey, grace: float) -> None:
        """TERM, and KILL after so many seconds. Asked again when the link is back, if need be."""
        self._send({"stop": list(key), "grace": grace})

    def forget(self, pod: str) -> None:
        """The pod is gone for good: its runs need not be remembered."""
        self._send({"forget": pod})
        for key in self._by_pod.pop(pod, {}):
            self._runs.pop(key, None)

    def _send(self, message: dict[str, Any]) -> None:
        if self._writer is not None:
            self._writer.write(orjson.dumps(message) + b"\n")

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        with contextlib.suppress(OSError):
            return await self._open()
        await self._launch()
        return await self._open()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        peer = socket.socket(socket.AF_UNIX)
        directory = None
        try:
            path = str(self._directory / "socket")
            if len(path) > LONGEST_SOCKET_PATH:
                # The kernel's name for the directory is short.
                directory = os.open(self._directory, os.O_RDONLY)
                path = f"/proc/self/fd/{directory}/socket"
            peer.connect(path)
            peer.setblocking(False)
            return await asyncio.open_unix_connection(sock=peer, limit=LONGEST_LINE)
        except BaseException:
            peer.close()
            raise
        finally:
            if directory is not None:
                os.close(directory)

    async def _launch(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "picokube.nodeagent.supervisor", str(self._directory)),
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        async with asyncio.timeout(START_TIMEOUT):
            code = await process.wait()
            if code > 1:
                raise OSError(code, os.strerror(code), str(self._directory))
            if code != 0:
                raise SupervisorGone(f"it could not be started; see {self._directory / 'supervisor.log'}")

    async def _follow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.problem = None
        try:
            while line := await reader.readline():
                self._take(orjson.loads(line))
        finally:
            writer.close()

    def _take(self, message: dict[str, Any]) -> None:
        match message:
            case {"welcome": welcome}:
                self.namespaces, self.pid = welcome["namespaces"], welcome["pid"]
                # A supervisor of an earlier version does not say.
                self.isolation = welcome.get("isolation", "process-group")
                log.info("isolation: %s", self.isolation)
                for run in welcome["runs"]:
                    self._learn(run_from_json(run))
                self._up.set()
            case {"refused": [reason, message], "id": int(number)}:
                answer = self._waiting.pop(number, None)
                if answer is not None and not answer.done():
                    answer.set_exception(StartRefused(Refusal(reason=reason, message=message)))
            case {"run": run, **rest}:
                found = self._learn(run_from_json(run))
                answer = self._waiting.pop(rest.get("id", 0), None)
                if answer is not None and not answer.done():
                    answer.set_result(found)
            case _:
                raise ValueError("the supervisor speaks another language")

    def _learn(self, run: Run) -> Run:
        known = self._runs.get(run.key)
        if known is not None and known.is_over:
            return known
        self._runs[run.key] = run
        self._by_pod.setdefault(run.key.pod, {})[run.key] = run
        if run != known:
            for listener in self._listeners:
                listener(run)
        return run

    def _break(self) -> None:
        self._writer = None
        self._up.clear()
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(SupervisorGone())
