"""What one attempt of a step wrote: from its pod while that is there, else the end of it that was kept.

All frontends read logs here, with the caller's permissions. `deploy/build` is a step of a nested run.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from jangar.api.phases import StepPhase
from jangar.controllers.kept_logs import DROPPED, KeptLogs
from jangar.controllers.resources import CHILD_UID, JOB_NAME, RUN_UID, resource_of
from jangar.domain.orchestration.explain import explain_step
from jangar.domain.orchestration.state import StepState
from jangar.kinds.registry import step_adapter
from jangar.server.reading import ReadRun
from jangar.server.refusals import Refused, Why
from jangar.server.submit import no_such_step
from jangar.store.errors import StoreError
from kubekit.client.api_client import Client
from kubekit.client.builtin import PODS
from kubekit.client.errors import ApiError, BadRequest, NotFound, ServerFailure
from kubekit.client.transport import Transport

AGAIN_SECONDS: Final = 0.3
SILENCE: Final = 3600.0
LAST_LINE_SECONDS: Final = 30.0
MAX_LENGTH: Final = 4 * 1024 * 1024
"""Bytes of a log that are read at once; of a longer one, the end."""
TOGETHER: Final = 16
STAMPED: Final = {"timestamps": "true"}
"""With a time before it no line is empty, and no two are the same."""

ReadOne = Callable[[str, str], Awaitable[ReadRun]]
"""A run by namespace and name; raises NotFound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Whose log is meant: one attempt of one step."""

    path: str
    run: str
    run_uid: str
    namespace: str
    state: StepState
    why: str
    """Why the step is as it is, in words."""
    attempt: int

    @property
    def is_current(self) -> bool:
        return self.attempt == self.state.attempt

    @property
    def is_live(self) -> bool:
        return self.is_current and self.state.is_live

    @property
    def child_uid(self) -> str | None:
        return self.state.child_uid if self.is_current else None

    @property
    def child(self) -> str | None:
        if self.is_current:
            return self.state.child
        return next(
            (attempt.child for attempt in self.state.attempts if attempt.attempt == self.attempt), None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLog:
    """The lines, or why there are none."""

    source: Source
    lines: Sequence[str] = ()
    missing: str = ""
    note: str = ""


class _Pod(NamedTuple):
    name: str
    job: str


class PastLogs(Protocol):
    """Where the ends of logs are kept for longer than files."""

    async def log_tail(self, uid: str) -> str | None: ...

    async def child_uid(self, namespace: str, name: str, kind: str) -> str | None: ...


def source(run: ReadRun, state: StepState, path: str, attempt: int | None) -> Source:
    """Raises Refused if the step has no such attempt."""
    if attempt is not None and attempt > state.attempt:
        had = f"{state.attempt} so far" if state.attempt else "none so far"
        raise Refused(f"{path} has no attempt {attempt}: {had}", Why.MISSING)
    explained = explain_step(run.view, state.name) if run.view else None
    who = run.identity
    return Source(
        path=path,
        run=who.name,
        run_uid=who.uid,
        namespace=who.namespace,
        state=state,
        why=explained.sentence if explained else str(state.reason),
        attempt=state.attempt if attempt is None else attempt,
    )


async def source_of(read: ReadOne, run: ReadRun, path: str, attempt: int | None) -> Source:
    """By the path of a step; raises Refused if there is no such step or attempt."""
    first, _, rest = path.partition("/")
    states = {item.name: item for item in (run.view.states if run.view else run.record.steps)}
    if first not in states:
        raise no_step(run.identity.name, first, list(states))
    state = states[first]
    if not rest:
        return source(run, state, path, attempt)
    if not step_adapter(state.kind).view.opens_run or not state.child:
        raise Refused(f"{first} is not a started nested run: it has no step {rest}", Why.MISSING)
    inner = await source_of(read, await read(run.identity.namespace, state.child), rest, attempt)
    return replace(inner, path=path)


def no_step(run: str, step: str, names: Sequence[str]) -> Refused:
    if not names:
        return Refused(f"{run} has not started: it has no steps yet (jangar explain {run})", Why.MISSING)
    return no_such_step(run, step, names)


class StepLogs:
    """Reads as one caller. With `together` the pods of a run are listed once, for somebody who reads many steps."""

    def __init__(
        self,
        client: Client,
        transport: Transport,
        read_run: ReadOne,
        *,
        tails: Path | None = None,
        past: PastLogs | None = None,
        together: bool = False,
    ) -> None:
        self._client = client
        self._transport = transport
        self._read_run = read_run
        self._tails = tails
        self._past = past
        self._pods: dict[str, Mapping[str, _Pod]] | None = {} if together else None

    async def read(self, source: Source, tail: int | None = None) -> StepLog:
        """All of it, or the last lines."""
        if not source.attempt or source.child is None:
            return StepLog(source=source, missing=_without_work(source))
        uid = source.child_uid or await self._uid(source)
        if uid is None:
            return StepLog(
                source=source, missing=f"{source.child} of attempt {source.attempt} no longer exists"
            )
        pod, why = await self._pod(source, uid), ""
        if pod is not None:
            try:
                text = await self._client.logs(pod.name, source.namespace, tail_lines=tail)
                if (before := await self._before(source.namespace, uid, pod.job)) is not None:
                    text = b"%s==> Job %s <==\n%s" % (before, pod.job.encode(), text)
                return StepLog(source=source, lines=_lines(text, tail))
            except (BadRequest, NotFound, ServerFailure) as error:
                why = error.message
        kept = await self._kept(source.namespace, uid)
        if kept is not None:
            note = "the pod no longer exists; this is the stored tail of its log"
            return StepLog(source=source, lines=_lines(kept, tail), note=note)
        return StepLog(source=source, missing=why or self._gone(source))

    async def read_all(self, found: Sequence[Source], tail: int | None) -> AsyncGenerator[StepLog]:
        """In their order, some of them at once."""
        for start in range(0, len(found), TOGETHER):
            some = found[start : start + TOGETHER]
            for log in await asyncio.gather(*(self.read(item, tail) for item in some)):
                yield log

    async def follow(self, source: Source, skip: int = 0) -> AsyncGenerator[str]:
        """Lines as they are written, without the first `skip`; ends when the attempt has."""
        number = 0
        while True:
            uid = source.child_uid
            pod = await self._pod(source, uid, fresh=True) if uid else None
            if pod is not None:
                async for line in self._streamed(source.namespace, pod.name):
                    number += 1
                    if number > skip:
                        yield line
            if number:
                return
            source = await self._again(source)
            if not source.is_live:
                break
            await asyncio.sleep(AGAIN_SECONDS)
        for line in (await self.read(source)).lines[skip:]:
            yield line

    async def _again(self, known: Source) -> Source:
        """As the step is now; one that is gone stays as it was."""
        try:
            run = await self._read_run(known.namespace, known.run)
        except NotFound:
            return known
        states = run.view.states if run.view else run.record.steps
        found = next((state for state in states if state.name == known.state.name), None)
        return source(run, found, known.path, known.attempt or None) if found is not None else known

    async def _streamed(self, namespace: str, pod: str) -> AsyncGenerator[str]:
        """A stream that breaks is begun again, and what was told is passed over."""
        path = PODS.path(namespace, pod, "log")
        reported, last = 0, b""
        for _ in range(round(60 / AGAIN_SECONDS)):
            passed = 0
            try:
                query = STAMPED | {"follow": "true"}
                async with self._transport.stream(path, query=query, idle_timeout=SILENCE) as lines:
                    async for line in lines:
                        passed += 1
                        if passed > reported:
                            reported, last = passed, line
                            yield _text(line)
            except ApiError as error:
                if not reported or error.status not in {400, 0}:
                    # The container has not started, or the pod has gone.
                    break
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                break
        # A stream ends with its last whole line: what was written after that has no end, and is asked for.
        unended = await self._last_line(path)
        if unended and unended != last:
            yield _text(unended)

    async def _last_line(self, path: str) -> bytes:
        """Empty if there is none, or the pod has gone."""
        query = STAMPED | {"tailLines": "1"}
        try:
            answer = await self._transport.request("GET", path, query=query, timeout=LAST_LINE_SECONDS)
        except ApiError:
            return b""
        return answer.body.rstrip(b"\n") if answer.status == HTTPStatus.OK else b""

    async def _pod(self, source: Source, uid: str, *, fresh: bool = False) -> _Pod | None:
        if self._pods is None:
            return (await self._listed(source.namespace, f"{CHILD_UID}={uid}")).get(uid)
        if fresh or source.run_uid not in self._pods:
            self._pods[source.run_uid] = await self._listed(source.namespace, f"{RUN_UID}={source.run_uid}")
        return self._pods[source.run_uid].get(uid)

    async def _listed(self, namespace: str, labels: str) -> Mapping[str, _Pod]:
        """By uid of the child, the newest pod of each."""
        found = [item["metadata"] for item in await self._client.list(PODS, namespace, labels=labels)]
        # Times are of whole seconds. One Job follows another: the pod that was written last is the later one's.
        found.sort(key=lambda pod: (pod["creationTimestamp"], int(pod["resourceVersion"])))
        return {
            pod["labels"].get(CHILD_UID, ""): _Pod(str(pod["name"]), pod["labels"].get(JOB_NAME, ""))
            for pod in found
        }

    async def _uid(self, source: Source) -> str | None:
        """Of a child of an earlier attempt only the name is recorded."""
        adapter = step_adapter(source.state.kind)
        kind = adapter.child
        if kind is None or not adapter.view.has_log or source.child is None:
            return None
        with contextlib.suppress(ApiError):
            child = await self._client.get(resource_of(kind), source.child, source.namespace)
            return str(child["metadata"]["uid"])
        if self._past is not None:
            with contextlib.suppress(StoreError):
                return await self._past.child_uid(source.namespace, source.child, kind.name)
        return None

    async def _kept(self, namespace: str, uid: str) -> bytes | None:
        """The ends of its logs."""
        if self._tails is not None:
            with contextlib.suppress(OSError):
                found = await asyncio.to_thread(KeptLogs(self._tails).read, namespace, uid)
                if found is not None:
                    return found
        return await self._stored(uid)

    async def _before(self, namespace: str, uid: str, job: str) -> bytes | None:
        """What was kept of its Jobs before this one, its last; None where it has but one."""
        if self._tails is not None:
            with contextlib.suppress(OSError):
                return await asyncio.to_thread(partial(KeptLogs(self._tails).read, namespace, uid, but=job))
        stored = await self._stored(uid) or b""
        before, head, _ = stored.rpartition(b"\n==> ")
        return before + b"\n" if head and stored.startswith((b"==> ", DROPPED)) else None

    async def _stored(self, uid: str) -> bytes | None:
        if self._past is not None:
            with contextlib.suppress(StoreError):
                text = await self._past.log_tail(uid)
                return text.encode() if text is not None else None
        return None

    def _gone(self, source: Source) -> str:
        if source.is_live:
            return "the pod has not started yet"
        if self._tails is None and self._past is None:
            return "the pod no longer exists and its log was deleted with it: check the log collector of the cluster"
        return (
            "the pod no longer exists and no log tail is stored (it never started, or the tail has expired)"
        )


def _without_work(source: Source) -> str:
    state = source.state
    adapter = step_adapter(state.kind)
    if adapter.child is None:
        return f"a step of kind {state.kind} has no log"
    if state.phase is StepPhase.SUCCEEDED and not state.child:
        return "the step did not run: its outcome was copied from the retried run"
    return f"{adapter.view.no_child}: {source.why}"


def _lines(text: bytes, tail: int | None) -> list[str]:
    """All lines, or the last ones; of a log that is too long, the end under a line that says so."""
    start = text.find(b"\n", len(text) - MAX_LENGTH) + 1 if len(text) > MAX_LENGTH else 0
    lines = text[start:].decode(errors="replace").splitlines()
    if start:
        lines.insert(0, f"... {start:,} earlier bytes omitted; showing the last {MAX_LENGTH // 2**20} MiB")
    return lines if tail is None else lines[-tail:] if tail else []


def _text(stamped: bytes) -> str:
    return stamped.decode(errors="replace").partition(" ")[2]
