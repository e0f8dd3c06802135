"""The agent's connection to the supervisor: starts the supervisor if none is running, and reconnects."""

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

from picokube.nodeagent.supervisor.protocol import (
    Refusal,
    Run,
    RunKey,
    StartContainer,
    run_from_json,
    start_request_to_json,
)

log = logging.getLogger("picokube.nodeagent")

MAX_LINE_LENGTH = 64 * 1024 * 1024
MAX_SOCKET_PATH = 100
START_TIMEOUT = 30.0
RETRY_SECONDS = 0.2

Listener = Callable[[Run], None]


class SupervisorGone(Exception):
    """The connection was lost before the supervisor answered. Retrying the request is safe."""


class StartRefused(Exception):
    """The container can't be started now and wasn't. Retrying later is safe."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class SupervisorLink:
    """Sends requests to the supervisor and caches the state of every container run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._runs: dict[RunKey, Run] = {}
        self._by_pod: dict[str, dict[RunKey, Run]] = {}
        self._listeners: list[Listener] = []
        self._pending: dict[int, asyncio.Future[Run]] = {}
        self._last_id = 0
        self._writer: asyncio.StreamWriter | None = None
        self._up = asyncio.Event()
        self.problem: Exception | None = None
        """Why there is no connection. None while connected."""
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
        """Wait until the link is connected and knows every run."""
        await self._up.wait()

    async def run(self) -> None:
        """Stay connected until canceled."""
        while True:
            try:
                await self._receive(*await self._connect())
            except (OSError, ValueError, RuntimeError, SupervisorGone) as error:
                # RuntimeError: can't start the thread that waits for the new process.
                level = logging.DEBUG if str(error) == str(self.problem) else logging.WARNING
                self.problem = error
                log.log(level, "supervisor connection failed; retrying", extra={"error": str(error)})
                await asyncio.sleep(RETRY_SECONDS)
            finally:
                self._disconnect()

    async def start(self, order: StartContainer) -> Run:
        """Start a container, or get its run if it was started before. Raises SupervisorGone and StartRefused."""
        if self._writer is None:
            raise SupervisorGone
        self._last_id += 1
        response: asyncio.Future[Run] = asyncio.get_running_loop().create_future()
        self._pending[self._last_id] = response
        self._send({"start": start_request_to_json(order), "id": self._last_id})
        return await response

    def stop(self, key: RunKey, grace: float) -> None:
        """Send SIGTERM, and SIGKILL after `grace` seconds. Does nothing while disconnected; the next pass retries."""
        self._send({"stop": list(key), "grace": grace})

    def forget(self, pod: str) -> None:
        """Drop the runs of a deleted pod."""
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
            if len(path) > MAX_SOCKET_PATH:
                # Socket paths are limited to 108 bytes.
                directory = os.open(self._directory, os.O_RDONLY)
                path = f"/proc/self/fd/{directory}/socket"
            peer.connect(path)
            peer.setblocking(False)
            return await asyncio.open_unix_connection(sock=peer, limit=MAX_LINE_LENGTH)
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
                raise SupervisorGone(
                    f"the supervisor could not be started; see {self._directory / 'supervisor.log'}"
                )

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.problem = None
        try:
            while line := await reader.readline():
                self._handle(orjson.loads(line))
        finally:
            writer.close()

    def _handle(self, message: dict[str, Any]) -> None:
        match message:
            case {"welcome": welcome}:
                self.namespaces, self.pid = welcome["namespaces"], welcome["pid"]
                # Earlier versions of the supervisor don't send it.
                self.isolation = welcome.get("isolation", "process-group")
                log.info("supervisor connected", extra={"pid": self.pid, "isolation": self.isolation})
                for run in welcome["runs"]:
                    self._update(run_from_json(run))
                self._up.set()
            case {"refused": [reason, message], "id": int(number)}:
                response = self._pending.pop(number, None)
                if response is not None and not response.done():
                    response.set_exception(StartRefused(Refusal(reason=reason, message=message)))
            case {"run": run, **rest}:
                latest = self._update(run_from_json(run))
                response = self._pending.pop(rest.get("id", 0), None)
                if response is not None and not response.done():
                    response.set_result(latest)
            case _:
                raise ValueError("the supervisor sent an unknown message; its version may be incompatible")

    def _update(self, run: Run) -> Run:
        known = self._runs.get(run.key)
        if known is not None and known.is_over:
            return known
        self._runs[run.key] = run
        self._by_pod.setdefault(run.key.pod, {})[run.key] = run
        if run != known:
            for listener in self._listeners:
                listener(run)
        return run

    def _disconnect(self) -> None:
        self._writer = None
        self._up.clear()
        pending, self._pending = self._pending, {}
        for response in pending.values():
            if not response.done():
                response.set_exception(SupervisorGone())
