"""Logs of step attempts: from the pod while it exists, otherwise the stored end of the log.

Reads with the caller's permissions. `deploy/build` names a step of a nested run.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Final, NamedTuple, Protocol

from jangar.api.phases import StepPhase
from jangar.controllers.kept_logs import DROPPED, KeptLogs
from jangar.controllers.resources import CHILD_UID, JOB_NAME, RUN_UID, resource_of
from jangar.domain.orchestration.explain import explain_step
from jangar.domain.orchestration.state import StepState
from jangar.kinds.registry import step_adapter
from jangar.operations.caller import Caller
from jangar.operations.refusals import ErrorKind, Refused
from jangar.operations.run_reading import ReadRun, RunSource, unknown_step
from jangar.store.errors import StoreError
from kubekit.client.builtin import PODS
from kubekit.client.errors import ApiError, BadRequest, NotFound, ServerFailure

RETRY_DELAY: Final = 0.3
STREAM_IDLE_TIMEOUT: Final = 3600.0
LAST_LINE_TIMEOUT: Final = 30.0
MAX_LENGTH: Final = 4 * 1024 * 1024
"""Bytes of a log that are shown; of a longer log, the end."""
MAX_CONCURRENT_READS: Final = 16
TIMESTAMPS: Final = {"timestamps": "true"}
"""With timestamps no line is empty, and no two lines are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """One attempt of one step."""

    path: str
    run: str
    run_uid: str
    namespace: str
    state: StepState
    why: str
    """Explanation of the step's phase."""
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
    """The lines, or the reason why there are none."""

    source: LogSource
    lines: Sequence[str] = ()
    missing: str = ""
    note: str = ""


class _Pod(NamedTuple):
    name: str
    job: str


class RunTree(Protocol):
    """A run that was read with its nested runs."""

    @property
    def read(self) -> ReadRun: ...

    @property
    def inside(self) -> "Mapping[str, RunTree]":
        """Nested runs by the name of their step."""
        ...


def log_source(run: ReadRun, state: StepState, path: str, attempt: int | None) -> LogSource:
    """Raises Refused if the step has no such attempt."""
    if attempt is not None and attempt > state.attempt:
        had = f"{state.attempt} so far" if state.attempt else "none so far"
        raise Refused(f"{path} has no attempt {attempt}: {had}", ErrorKind.MISSING)
    explained = explain_step(run.view, state.name) if run.view else None
    who = run.identity
    return LogSource(
        path=path,
        run=who.name,
        run_uid=who.uid,
        namespace=who.namespace,
        state=state,
        why=explained.sentence if explained else str(state.reason),
        attempt=state.attempt if attempt is None else attempt,
    )


async def find_log_source(runs: RunSource, run: ReadRun, path: str, attempt: int | None) -> LogSource:
    """The source of one step by its path. Raises Refused if there is no such step or attempt."""
    first, _, rest = path.partition("/")
    states = {state.name: state for state in run.states}
    if first not in states:
        raise _unknown_step(run.identity.name, first, list(states))
    state = states[first]
    if not rest:
        return log_source(run, state, path, attempt)
    if not step_adapter(state.kind).view.opens_run or not state.child:
        raise Refused(f"{first} is not a started nested run: it has no step {rest}", ErrorKind.MISSING)
    nested = await runs.read(run.identity.namespace, state.child)
    inner = await find_log_source(runs, nested, rest, attempt)
    return replace(inner, path=path)


def log_sources(tree: RunTree, step: str, attempt: int | None, prefix: str = "") -> list[LogSource]:
    """The sources of all steps, with those of nested runs, or of one step. Raises Refused if there is none."""
    first, _, rest = step.partition("/")
    states = list(tree.read.record.steps)
    names = [state.name for state in states]
    if first and first not in names:
        raise _unknown_step(tree.read.identity.name, first, names)
    sources: list[LogSource] = []
    for state in states:
        if first and state.name != first:
            continue
        nested = tree.inside.get(state.name)
        if nested is not None:
            sources += log_sources(nested, rest, attempt, f"{prefix}{state.name}/")
        elif rest:
            raise Refused(
                f"{prefix}{state.name} is not a nested run: it has no step {rest}", ErrorKind.MISSING
            )
        else:
            sources.append(log_source(tree.read, state, f"{prefix}{state.name}", attempt))
    return sources


def _unknown_step(run: str, step: str, names: Sequence[str]) -> Refused:
    if not names:
        return Refused(
            f"{run} has not started: it has no steps yet (jangar explain {run})", ErrorKind.MISSING
        )
    return unknown_step(run, step, names)


class StepLogs:
    """Reads logs as one caller. With `batch` the pods of a run are listed once, for reading many steps."""

    def __init__(self, caller: Caller, *, batch: bool = False) -> None:
        self._caller = caller
        self._pods: dict[str, Mapping[str, _Pod]] | None = {} if batch else None

    async def read(self, source: LogSource, tail: int | None = None) -> StepLog:
        """The whole log, or its last lines."""
        if not source.attempt or source.child is None:
            return StepLog(source=source, missing=_reason_without_work(source))
        uid = source.child_uid or await self._uid(source)
        if uid is None:
            return StepLog(
                source=source, missing=f"{source.child} of attempt {source.attempt} no longer exists"
            )
        pod, why = await self._pod(source, uid), ""
        if pod is not None:
            try:
                text = await self._caller.client.logs(pod.name, source.namespace, tail_lines=tail)
                if (before := await self._earlier_jobs(source.namespace, uid, pod.job)) is not None:
                    text = b"%s==> Job %s <==\n%s" % (before, pod.job.encode(), text)
                return StepLog(source=source, lines=_lines(text, tail))
            except (BadRequest, NotFound, ServerFailure) as error:
                why = error.message
        stored = await self._stored_tail(source.namespace, uid)
        if stored is not None:
            note = "the pod no longer exists; this is the stored tail of its log"
            return StepLog(source=source, lines=_lines(stored, tail), note=note)
        return StepLog(source=source, missing=why or self._reason_without_pod(source))

    async def read_all(self, sources: Sequence[LogSource], tail: int | None) -> AsyncGenerator[StepLog]:
        """The logs in the order of their sources; some are read concurrently."""
        for start in range(0, len(sources), MAX_CONCURRENT_READS):
            batch = sources[start : start + MAX_CONCURRENT_READS]
            for log in await asyncio.gather(*(self.read(source, tail) for source in batch)):
                yield log

    async def follow(self, source: LogSource, skip: int = 0) -> AsyncGenerator[str]:
        """Lines as they are written, without the first `skip`, until the attempt ends."""
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
            source = await self._refresh(source)
            if not source.is_live:
                break
            await asyncio.sleep(RETRY_DELAY)
        for line in (await self.read(source)).lines[skip:]:
            yield line

    async def _refresh(self, known: LogSource) -> LogSource:
        """The current state of the step; unchanged if its run was deleted."""
        try:
            run = await self._caller.runs.read(known.namespace, known.run)
        except NotFound:
            return known
        state = next((state for state in run.states if state.name == known.state.name), None)
        return log_source(run, state, known.path, known.attempt or None) if state is not None else known

    async def _streamed(self, namespace: str, pod: str) -> AsyncGenerator[str]:
        """Lines of the stream; a broken stream is restarted, and lines that were already sent are skipped."""
        path = PODS.path(namespace, pod, "log")
        sent, last = 0, b""
        for _ in range(round(60 / RETRY_DELAY)):
            passed = 0
            try:
                query = TIMESTAMPS | {"follow": "true"}
                async with self._caller.transport.stream(
                    path, query=query, idle_timeout=STREAM_IDLE_TIMEOUT
                ) as lines:
                    async for line in lines:
                        passed += 1
                        if passed > sent:
                            sent, last = passed, line
                            yield _without_timestamp(line)
            except ApiError as error:
                if not sent or error.status not in {400, 0}:
                    # The container has not started, or the pod was deleted.
                    break
                await asyncio.sleep(RETRY_DELAY)
            else:
                break
        # A stream ends with the last complete line; a last line without a newline is read separately.
        last_line = await self._last_line(path)
        if last_line and last_line != last:
            yield _without_timestamp(last_line)

    async def _last_line(self, path: str) -> bytes:
        """Empty if there is none or the pod was deleted."""
        query = TIMESTAMPS | {"tailLines": "1"}
        try:
            response = await self._caller.transport.request(
                "GET", path, query=query, timeout=LAST_LINE_TIMEOUT
            )
        except ApiError:
            return b""
        return response.body.rstrip(b"\n") if response.status == HTTPStatus.OK else b""

    async def _pod(self, source: LogSource, uid: str, *, fresh: bool = False) -> _Pod | None:
        if self._pods is None:
            return (await self._list_pods(source.namespace, f"{CHILD_UID}={uid}")).get(uid)
        if fresh or source.run_uid not in self._pods:
            self._pods[source.run_uid] = await self._list_pods(
                source.namespace, f"{RUN_UID}={source.run_uid}"
            )
        return self._pods[source.run_uid].get(uid)

    async def _list_pods(self, namespace: str, labels: str) -> Mapping[str, _Pod]:
        """The newest pod of each child, by the child's uid."""
        found = [item["metadata"] for item in await self._caller.client.list(PODS, namespace, labels=labels)]
        # Creation times have whole seconds. Of two pods of one second, the one written last belongs to the later Job.
        found.sort(key=lambda pod: (pod["creationTimestamp"], int(pod["resourceVersion"])))
        return {
            pod["labels"].get(CHILD_UID, ""): _Pod(str(pod["name"]), pod["labels"].get(JOB_NAME, ""))
            for pod in found
        }

    async def _uid(self, source: LogSource) -> str | None:
        """The uid of a child of an earlier attempt, of which only the name is recorded."""
        adapter = step_adapter(source.state.kind)
        kind = adapter.child
        if kind is None or not adapter.view.has_log or source.child is None:
            return None
        with contextlib.suppress(ApiError):
            child = await self._caller.client.get(resource_of(kind), source.child, source.namespace)
            return str(child["metadata"]["uid"])
        if self._caller.history is not None:
            with contextlib.suppress(StoreError):
                return await self._caller.history.child_uid(source.namespace, source.child, kind.name)
        return None

    async def _stored_tail(self, namespace: str, uid: str) -> bytes | None:
        """The stored ends of its logs."""
        if self._caller.log_tails is not None:
            with contextlib.suppress(OSError):
                found = await asyncio.to_thread(KeptLogs(self._caller.log_tails).read, namespace, uid)
                if found is not None:
                    return found
        return await self._stored_in_history(uid)

    async def _earlier_jobs(self, namespace: str, uid: str, job: str) -> bytes | None:
        """The stored logs of its Jobs before the last one; None if it has only one."""
        if self._caller.log_tails is not None:
            with contextlib.suppress(OSError):
                return await asyncio.to_thread(
                    partial(KeptLogs(self._caller.log_tails).read, namespace, uid, but=job)
                )
        stored = await self._stored_in_history(uid) or b""
        before, head, _ = stored.rpartition(b"\n==> ")
        return before + b"\n" if head and stored.startswith((b"==> ", DROPPED)) else None

    async def _stored_in_history(self, uid: str) -> bytes | None:
        if self._caller.history is not None:
            with contextlib.suppress(StoreError):
                text = await self._caller.history.log_tail(uid)
                return text.encode() if text is not None else None
        return None

    def _reason_without_pod(self, source: LogSource) -> str:
        if source.is_live:
            return "the pod has not started yet"
        if self._caller.log_tails is None and self._caller.history is None:
            return "the pod no longer exists and its log was deleted with it: check the log collector of the cluster"
        return (
            "the pod no longer exists and no log tail is stored (it never started, or the tail has expired)"
        )


def _reason_without_work(source: LogSource) -> str:
    state = source.state
    adapter = step_adapter(state.kind)
    if adapter.child is None:
        return f"a step of kind {state.kind} has no log"
    if state.phase is StepPhase.SUCCEEDED and not state.child:
        return "the step did not run: its outcome was copied from the retried run"
    return f"{adapter.view.no_child}: {source.why}"


def _lines(text: bytes, tail: int | None) -> list[str]:
    """All lines or the last ones. A log that is too long is cut, and its first line says so."""
    start = text.find(b"\n", len(text) - MAX_LENGTH) + 1 if len(text) > MAX_LENGTH else 0
    lines = text[start:].decode(errors="replace").splitlines()
    if start:
        lines.insert(0, f"... {start:,} earlier bytes omitted; showing the last {MAX_LENGTH // 2**20} MiB")
    return lines if tail is None else lines[-tail:] if tail else []


def _without_timestamp(stamped: bytes) -> str:
    return stamped.decode(errors="replace").partition(" ")[2]
