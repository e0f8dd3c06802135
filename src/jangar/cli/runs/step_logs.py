"""What the steps of a run wrote: from their pods while these live, else from the tails kept on this machine.

A step has the log of one attempt, the latest unless another is asked for. The log of a nested run is that of its steps.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jangar.api.phases import CHILD_KINDS, StepKind, StepPhase
from jangar.api.tools import TOOL_RUN
from jangar.cli.asking import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.cli.following.tree import Seen
from jangar.controllers.resources import CHILD_UID, RUN_UID, resource_of
from jangar.domain.orchestration.explain import explain_step
from jangar.domain.orchestration.state import StepState
from jangar.domain.orchestration.wording import Guesses
from jangar.kube.builtin import PODS
from jangar.kube.errors import ApiError, NotFound

if TYPE_CHECKING:
    from jangar.cli.asking import Session

TOGETHER: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Whose log is meant: one attempt of one step."""

    path: str
    """`deploy/build` for a step of a nested run."""
    run_uid: str
    namespace: str
    state: StepState
    why: str
    """Why the step is as it is, in words."""
    attempt: int

    @property
    def child_uid(self) -> str | None:
        return self.state.child_uid if self.attempt == self.state.attempt else None

    @property
    def child(self) -> str | None:
        if self.attempt == self.state.attempt:
            return self.state.child
        return next((each.child for each in self.state.attempts if each.attempt == self.attempt), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLog:
    """The lines, or why there are none."""

    source: Source
    lines: Sequence[str] = ()
    missing: str = ""
    note: str = ""


def sources(seen: Seen, step: str, attempt: int | None, prefix: str = "") -> list[Source]:
    """All steps, or the one named; raises Failure if there is none of that name or number."""
    first, _, rest = step.partition("/")
    states = list(seen.read.record.steps)
    if first and first not in [each.name for each in states]:
        raise _no_such_step(seen, first)
    found: list[Source] = []
    for state in states:
        if first and state.name != first:
            continue
        within = seen.inside.get(state.name)
        if within is not None:
            found += sources(within, rest, attempt, f"{prefix}{state.name}/")
        elif rest:
            raise Failure(f"{prefix}{state.name} is no nested run: it has no step {rest}", ExitCode.NOT_FOUND)
        else:
            found.append(_source(seen, state, f"{prefix}{state.name}", attempt))
    return found


def _source(seen: Seen, state: StepState, path: str, attempt: int | None) -> Source:
    if attempt is not None and attempt > state.attempt:
        had = f"{state.attempt} so far" if state.attempt else "none so far"
        raise Failure(f"{path} has no attempt {attempt}: {had}", ExitCode.NOT_FOUND)
    explained = explain_step(seen.read.view, state.name) if seen.read.view else None
    return Source(
        path=path,
        run_uid=seen.read.identity.uid,
        namespace=seen.read.identity.namespace,
        state=state,
        why=explained.sentence if explained else str(state.reason),
        attempt=state.attempt if attempt is None else attempt,
    )


def _no_such_step(seen: Seen, step: str) -> Failure:
    name, names = seen.read.identity.name, [each.name for each in seen.read.record.steps]
    if not names:
        return Failure(
            f"{name} has not started: it has no steps yet (jangar explain {name})", ExitCode.NOT_FOUND
        )
    near = Guesses(names).nearest(step)
    hint = f"; did you mean {near}?" if near else f"; it has {', '.join(names[:20])}"
    return Failure(f"{name} has no step {step}{hint}", ExitCode.NOT_FOUND)


class StepLogs:
    """Reads them, with the pods of a run listed once."""

    def __init__(self, session: "Session", tails: Path | None) -> None:
        self._session = session
        self._tails = tails
        self._pods: dict[str, Mapping[str, str]] = {}

    async def read(self, found: Sequence[Source], tail: int | None) -> AsyncIterator[StepLog]:
        """In their order, some of them at once."""
        for start in range(0, len(found), TOGETHER):
            for log in await asyncio.gather(
                *(self.one(each, tail) for each in found[start : start + TOGETHER])
            ):
                yield log

    async def one(self, source: Source, tail: int | None) -> StepLog:
        if not source.attempt or source.child is None:
            return StepLog(source=source, missing=_without_work(source))
        uid = source.child_uid or await self._uid(source)
        if uid is None:
            return StepLog(source=source, missing=f"{source.child} of attempt {source.attempt} is gone")
        pod = (await self._pods_of(source)).get(uid)
        why = ""
        if pod is not None:
            try:
                text = await self._session.client.logs(pod, source.namespace, tail_lines=tail)
                return StepLog(source=source, lines=_lines(text, tail))
            except ApiError as error:
                why = error.message
        kept = await asyncio.to_thread(self._kept, source.namespace, uid)
        if kept is not None:
            return StepLog(
                source=source, lines=_lines(kept, tail), note="its pod is gone; this is the kept tail"
            )
        return StepLog(source=source, missing=why or self._gone(source))

    async def pod(self, source: Source) -> str | None:
        """The pod of the step now, read anew."""
        self._pods.pop(source.run_uid, None)
        return (await self._pods_of(source)).get(source.child_uid or "")

    async def _pods_of(self, source: Source) -> Mapping[str, str]:
        if source.run_uid not in self._pods:
            found = await self._session.client.list(
                PODS, source.namespace, labels=f"{RUN_UID}={source.run_uid}"
            )
            self._pods[source.run_uid] = {
                (pod["metadata"].get("labels") or {}).get(CHILD_UID, ""): pod["metadata"]["name"]
                for pod in found
            }
        return self._pods[source.run_uid]

    async def _uid(self, source: Source) -> str | None:
        """Of a child of an earlier attempt: only its name is recorded."""
        with contextlib.suppress(NotFound):
            child = await self._session.client.get(
                resource_of(TOOL_RUN), source.child or "", source.namespace
            )
            return str(child["metadata"]["uid"])
        return None

    def _kept(self, namespace: str, uid: str) -> bytes | None:
        if self._tails is None:
            return None
        with contextlib.suppress(OSError):
            return (self._tails / namespace / f"{uid}.log").read_bytes()
        return None

    def _gone(self, source: Source) -> str:
        if source.state.is_live:
            return "its pod has not started yet"
        if self._tails is None:
            return (
                "its pod is gone, and a cluster's logs go with the pods: look where the cluster collects them"
            )
        return "its pod is gone and no tail of its log was kept (it never started, or the tail has expired)"


def _without_work(source: Source) -> str:
    state = source.state
    if state.kind not in CHILD_KINDS:
        return f"a step of kind {state.kind} does no work that could write a log"
    if state.phase is StepPhase.SUCCEEDED and not state.child:
        return "it did not run here: its outcome was taken from the run that this one repeats"
    if state.kind is StepKind.SUB_ORCHESTRATION:
        return f"its own run is not there: {source.why}"
    return f"it has not run: {source.why}"


def _lines(text: bytes, tail: int | None) -> list[str]:
    lines = text.decode(errors="replace").splitlines()
    return lines if tail is None else lines[-tail:] if tail else []
