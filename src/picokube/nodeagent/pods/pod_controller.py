"""The life of one pod: look at it, plan, start and stop, tell its status. One pass a change."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from kubekit.cache.object_cache import Cache, Change
from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, PODS, SECRETS
from kubekit.client.errors import NotFound
from kubekit.controller.evaluation import evaluated
from kubekit.controller.reconcile import DONE, Key, LookAgain, Result
from kubekit.events.event_recorder import EventRecorder
from picokube.nodeagent import timestamps
from picokube.nodeagent.lifecycle_events import (
    Once,
    containers_backing_off,
    containers_started,
    containers_stopping,
)
from picokube.nodeagent.pods.api_access import ApiAccess
from picokube.nodeagent.pods.container_request import (
    ContainerContext,
    container_start_request,
    order_size,
    references,
)
from picokube.nodeagent.pods.environment import ConfigProblem
from picokube.nodeagent.pods.expansion import ExpansionTooLarge
from picokube.nodeagent.pods.known_runs import known_runs
from picokube.nodeagent.pods.pod_plan import DEFAULT_GRACE, ENDED, PodPlan, latest_runs, plan_pod
from picokube.nodeagent.pods.pod_status import Seen, Waiting, is_same, pod_status
from picokube.nodeagent.pods.process_mode import ProcessMode
from picokube.nodeagent.pods.spec_checks import refused_fields
from picokube.nodeagent.pods.termination_message import last_words
from picokube.nodeagent.supervisor.orders import Run, RunKey
from picokube.nodeagent.supervisor_link import StartRefused, SupervisorGone, SupervisorLink
from picokube.nodeagent.writes import Writer

log = logging.getLogger("picokube.nodeagent")

STOPPING_HOLD = timedelta(seconds=1)
"""That a pod to be deleted is not ready any more is told after this long: it says so itself, and most end sooner."""
HOLD = timedelta(milliseconds=100)
"""That a pod runs is told after this long: one that ends sooner is told once."""
RETRY_SECONDS = 2.0
LINK_SECONDS = 0.1
_RESOURCES = {
    "ConfigMap": CONFIG_MAPS,
    "Secret": SECRETS,
    "PersistentVolumeClaim": PERSISTENT_VOLUME_CLAIMS,
}


class PodController:
    """Reconciles pods that are bound to this node."""

    def __init__(
        self,
        client: Client,
        pods: Cache,
        link: SupervisorLink,
        mode: ProcessMode,
        events: EventRecorder,
        *,
        node: str,
        server: str = "",
        now: Callable[[], datetime],
    ) -> None:
        self._access = ApiAccess(client=client, places=mode.places, server=server)
        self._client, self._pods, self._link, self._mode, self._events = client, pods, link, mode, events
        self._writer = Writer(client, PODS, pods)
        self._once = Once()
        self._node = node
        self._refused: dict[Key, None] = {}
        self._now = now

    def is_news(self, change: Change) -> bool:
        """Whether a change asks for a pass: one of a pod that is over and told does not, nor that one is gone."""
        if change.new is None:
            return False
        return not self._link.is_up or not self._is_at_rest(change.new.view)

    async def reconcile(self, key: Key) -> Result:
        cached = self._pods.get(key.namespace, key.name)
        if cached is None:
            return DONE
        pod = cached.decode()
        is_ours = pod["spec"].get("nodeName") == self._node
        if not is_ours and not (cached.is_being_deleted and not pod["spec"].get("nodeName")):
            return DONE
        await self._link.connected()
        if self._is_at_rest(pod):
            return DONE
        try:
            return await self._advance(pod)
        except SupervisorGone:
            # What was started is known as soon as the link is back, and it comes back by itself.
            return LookAgain(LINK_SECONDS)

    def _is_at_rest(self, pod: Obj) -> bool:
        """Over, told, and not to be deleted by us: nothing will come of looking at it."""
        meta = pod["metadata"]
        if (pod.get("status") or {}).get("phase") not in ENDED or _awaits_us(meta):
            return False
        return all(run.is_over for run in self._link.runs_of(meta["uid"]))

    async def _advance(self, pod: Obj) -> Result:
        uid = pod["metadata"]["uid"]
        waiting: dict[str, Waiting] = {}
        plan = self._plan(pod)
        for stop in plan.stop:
            self._link.stop(stop.key, stop.grace)
        stops = [(stop.key.container, stop.key.restart) for stop in plan.stop]
        containers_stopping(self._events, self._once, pod, stops)
        containers_backing_off(self._events, self._once, pod, plan.backing_off)
        if plan.start:
            waiting = await self._start(pod, plan.start)
            plan = self._plan(pod)
        runs = known_runs(pod, self._link.runs_of(uid), now=self._now())
        seen = Seen(runs=runs, waiting=waiting, messages=self._messages(pod, runs), mode=self._mode.condition)
        status = pod_status(pod, plan, seen, now=self._now())
        held = await self._tell(pod, plan, status, is_waiting=bool(waiting))
        if held is not None:
            return LookAgain(held)
        if plan.is_over:
            await self._finish(pod)
            return DONE
        return self._next_look(plan, is_waiting=bool(waiting))

    def _plan(self, pod: Obj) -> PodPlan:
        runs = known_runs(pod, self._link.runs_of(pod["metadata"]["uid"]), now=self._now())
        refused = [] if runs else refused_fields(pod, self._mode.host)
        return plan_pod(pod, runs, now=self._now(), refused=refused)

    async def _start(self, pod: Obj, keys: Sequence[RunKey]) -> dict[str, Waiting]:
        """Start what can be started; why the others cannot be yet."""
        found = await self._referenced(pod)

        def find(kind: str, name: str) -> Obj | None:
            return found.get((kind, name))

        reaching = await self._access.prepare(pod) if self._mode.uses_namespaces else {}
        shop = ContainerContext(
            places=self._mode.places,
            host=self._mode.host,
            namespaces=self._mode.uses_namespaces,
            inherited={**self._mode.inherited, **reaching},
            programs=self._mode.programs,
        )
        waiting: dict[str, Waiting] = {}
        orders = []
        for key in keys:
            try:
                orders.append(
                    await evaluated(
                        partial(container_start_request, pod, key, shop, find), size=order_size(pod, key)
                    )
                )
            except (ConfigProblem, ExpansionTooLarge, OSError) as error:
                waiting[key.container] = Waiting(reason="CreateContainerConfigError", message=str(error))
                self._events.record(pod, type="Warning", reason="Failed", message=f"Error: {error}")
        self._mode.tell_once(pod, self._events)
        answers = await asyncio.gather(*(self._link.start(order) for order in orders), return_exceptions=True)
        started = []
        for order, answer in zip(orders, answers, strict=True):
            match answer:
                case StartRefused(refusal=refusal):
                    waiting[order.key.container] = Waiting(reason=refusal.reason, message=refusal.message)
                    self._refused[Key(pod["metadata"]["namespace"], pod["metadata"]["name"])] = None
                case BaseException():
                    raise answer
                case run:
                    started.append(run)
        containers_started(self._events, pod, started)
        return waiting

    def next_refused(self) -> Key | None:
        """A pod whose start was refused and may be asked for again: something ended."""
        key = next(iter(self._refused), None)
        if key is not None:
            del self._refused[key]
        return key

    async def _referenced(self, pod: Obj) -> Mapping[tuple[str, str], Obj]:
        wanted = sorted(references(pod))

        async def look(kind: str, name: str) -> Obj | None:
            try:
                obj = await self._client.get(_RESOURCES[kind], name, pod["metadata"]["namespace"])
            except NotFound:
                return None
            return {"kind": kind, **obj}

        objects = await asyncio.gather(*(look(kind, name) for kind, name in wanted))
        return {key: obj for key, obj in zip(wanted, objects, strict=True) if obj is not None}

    def _messages(self, pod: Obj, runs: list[Run]) -> dict[RunKey, str]:
        latest = latest_runs(runs)
        return {
            run.key: last_words(
                pod, run, self._mode.places, is_latest=latest[run.key.container].key == run.key
            )
            for run in runs
            if run.is_over and run.key.restart >= latest[run.key.container].key.restart - 1
        }

    async def _tell(self, pod: Obj, plan: PodPlan, status: Obj, *, is_waiting: bool) -> float | None:
        """Write the status if it is new; the seconds to wait where the news may change soon."""
        old = pod.get("status") or {}
        if old.get("phase") in ENDED or is_same(old, status):
            return None
        if plan.stop:
            left = (_stopping_since(pod) + STOPPING_HOLD - self._now()).total_seconds()
            if left > 0:
                return left
        elif not plan.is_over and not is_waiting:
            begun = datetime.fromisoformat(status["startTime"])
            runs = self._link.runs_of(pod["metadata"]["uid"])
            if runs:
                begun = datetime.fromtimestamp(max(run.started_at for run in runs), begun.tzinfo)
            left = (begun + HOLD - self._now()).total_seconds()
            if left > 0 and not any(run.is_over for run in runs):
                return left
        await self._writer.patch_status(pod, status)
        return None

    async def _finish(self, pod: Obj) -> None:
        """A pod that is to be deleted goes when nothing of it runs; its volumes go in any case."""
        self._mode.discard(pod)
        if _awaits_us(pod["metadata"]):
            await self._writer.delete(pod, grace_seconds=0)

    def stop(self, pod: Obj) -> None:
        """TERM as its deletion will send it, for one who is about to delete it and has others to delete, too.

        Not where an end would be taken for one to start anew from.
        """
        spec, meta = pod["spec"], pod["metadata"]
        if spec.get("restartPolicy") != "Never":
            return
        grace = timedelta(seconds=spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE))
        leaving = {**pod, "metadata": {**meta, "deletionTimestamp": timestamps.written(self._now() + grace)}}
        for stop in self._plan(leaving).stop:
            self._link.stop(stop.key, stop.grace)

    def _next_look(self, plan: PodPlan, *, is_waiting: bool) -> Result:
        waits = [RETRY_SECONDS] if is_waiting else []
        if plan.look_again_at is not None:
            waits.append(max((plan.look_again_at - self._now()).total_seconds(), 0.0))
        return LookAgain(min(waits)) if waits else DONE


def _awaits_us(meta: Obj) -> bool:
    """Whether a pod goes when its node says that nothing runs: without grace it waits for others' finalizers alone."""
    return bool(meta.get("deletionTimestamp") and meta.get("deletionGracePeriodSeconds") != 0)


def _stopping_since(pod: Obj) -> datetime:
    """When its deletion was asked for; long ago where it ends for another reason, which nothing else tells."""
    meta = pod["metadata"]
    if not meta.get("deletionTimestamp"):
        return datetime.min.replace(tzinfo=UTC)
    return timestamps.read(meta["deletionTimestamp"]) - timedelta(
        seconds=meta.get("deletionGracePeriodSeconds") or 0
    )
