"""The node agent: its parts wired over one client and one data directory. `run` lives until it is cancelled."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import Cached, Change
from kubekit.client.api_client import Client
from kubekit.client.builtin import CRON_JOBS, JOBS, PODS
from kubekit.controller.controller import Controller
from kubekit.controller.manager import Manager
from kubekit.controller.reconcile import Key
from kubekit.controller.sources import owner_key
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.events.event_recorder import EventRecorder
from kubekit.events.event_values import EventLimits
from picokube.nodeagent.cron_jobs.cron_controller import CronJobController
from picokube.nodeagent.identity import claimed
from picokube.nodeagent.jobs.job_controller import JobController
from picokube.nodeagent.jobs.job_facts import is_finished
from picokube.nodeagent.node import NodeRegistration, node_labels
from picokube.nodeagent.orphan_cleanup import Leavings
from picokube.nodeagent.pods.environment import inherited
from picokube.nodeagent.pods.own_programs import OwnProgram
from picokube.nodeagent.pods.pod_controller import PodController
from picokube.nodeagent.pods.pod_plan import ENDED
from picokube.nodeagent.pods.process_mode import ProcessMode
from picokube.nodeagent.pods.scheduling import Scheduler
from picokube.nodeagent.pods.shared_scratch import remove_shared_scratch
from picokube.nodeagent.pods.spec_checks import Host
from picokube.nodeagent.pods.volume_files import Places
from picokube.nodeagent.slots import Slots
from picokube.nodeagent.supervisor.kernel import boot_id
from picokube.nodeagent.supervisor.orders import Run
from picokube.nodeagent.supervisor_link import SupervisorLink

UID = "uid"
EVENT_PATIENCE = 1.0
"""Seconds that an Event waits: what it tells of goes on first."""
NORMAL_EVENTS_BURST, NORMAL_EVENTS_PER_SECOND = 200, 10.0
"""Of Normal Events of all objects: hundreds of short pods a minute would cost more to report than to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAgentSettings:
    """What a user may choose."""

    data_dir: Path
    """Shared with the API server, which reads logs from `pod-logs` in it."""
    node_name: str
    max_pods: int = 110
    keep_logs_seconds: float = 60.0
    """How long logs and records stay after a pod's object is gone."""
    mount_namespaces: bool = True
    """Where the system allows it; else paths are mapped."""
    programs: tuple[OwnProgram, ...] = ()
    """Programs of this machine that containers of every user may start."""
    version: str = "0"
    workers: int = 16
    api_server: str = ""
    """Where pods reach the API, as `https://127.0.0.1:7447`; empty: they get no token."""


class NodeAgent:
    """Jobs, CronJobs and pods of one API as processes of this machine."""

    def __init__(
        self,
        client: Client,
        settings: NodeAgentSettings,
        *,
        now: Callable[[], datetime],
        haste: UrgentWorkGate | None = None,
    ) -> None:
        self._client = client
        haste = haste or UrgentWorkGate()
        host = Host(user=os.geteuid(), group=os.getegid())
        data = settings.data_dir.absolute()
        self._data = data
        every = Namespaces.every()
        self.pods = Informer(client, PODS, namespaces=every, indexes={UID: _uid})
        jobs = Informer(client, JOBS, namespaces=every)
        crons = Informer(client, CRON_JOBS, namespaces=every)
        self.link = SupervisorLink(Places(data=data).supervisor)
        events = EventRecorder(
            client,
            component="jangar-node-agent",
            now=now,
            limits=EventLimits(
                patience=EVENT_PATIENCE,
                normal_burst=NORMAL_EVENTS_BURST,
                normal_per_second=NORMAL_EVENTS_PER_SECOND,
            ),
            haste=haste,
        )
        slots = Slots(settings.node_name, settings.max_pods)
        mode = ProcessMode(
            data=data,
            host=host,
            inherited=inherited(os.environ),
            link=self.link,
            may_use_namespaces=settings.mount_namespaces,
            programs=settings.programs,
        )
        self._slots, self._settings, self._mode = slots, settings, mode
        self._pod_life = pod_life = PodController(
            client,
            self.pods.cache,
            self.link,
            mode,
            events,
            node=settings.node_name,
            server=settings.api_server,
            now=now,
        )
        self._scheduler = Scheduler(
            client, self.pods.cache, slots, labels=node_labels(settings.node_name), events=events, now=now
        )
        job_life = JobController(
            client, jobs.cache, self.pods.cache, slots, events, stop=pod_life.stop, haste=haste, now=now
        )
        cron_life = CronJobController(client, crons.cache, jobs.cache, events, now=now)
        self._leavings = Leavings(
            self.link,
            lambda: mode.places,
            lambda uid: bool(self.pods.cache.by(UID, uid)),
            remove_discarded=mode.remove_discarded,
            keep_seconds=settings.keep_logs_seconds,
        )
        self._pod_loop = Controller("pod", pod_life.reconcile, workers=settings.workers, haste=haste)
        self._scheduler_loop = Controller("scheduler", self._scheduler.reconcile, workers=1, haste=haste)
        job_loop = Controller("job", job_life.reconcile, workers=settings.workers, haste=haste)
        cron_loop = Controller("cronjob", cron_life.reconcile, workers=2, haste=haste)
        self.pods.subscribe(self._pod_changed)
        self.link.subscribe(self._run_changed)
        self._pod_loop.watch(self.pods, where=_is_ended_by_others, first=True)
        self._pod_loop.watch(self.pods, where=pod_life.is_news)
        self._scheduler_loop.watch(self.pods, where=_is_unbound)
        job_loop.watch(jobs, where=_is_stopped, first=True)
        job_loop.watch(jobs)
        job_loop.watch(self.pods, owner_key("Job"), where=job_life.is_news_of_pod)
        cron_loop.watch(crons)
        cron_loop.watch(jobs, owner_key("CronJob"))
        node = NodeRegistration(
            client,
            settings.node_name,
            max_pods=settings.max_pods,
            version=settings.version,
            boot=boot_id(),
            isolation=self._isolation,
            now=now,
        )
        self.manager = Manager()
        self.manager.add_service("events", events.run)
        self.manager.add_service("supervisor-link", self.link.run)
        self.manager.add_service("node", node.run)
        for name, informer in (("pods", self.pods), ("jobs", jobs), ("cronjobs", crons)):
            self.manager.add_informer(name, informer)
        for controller in (self._pod_loop, self._scheduler_loop, job_loop, cron_loop):
            self.manager.add_controller(controller)
        self.manager.add_service("leavings", self._sweep)

    async def run(self) -> None:
        """Until cancelled or told to stop. Containers go on: the supervisor is a process of its own."""
        async with claimed(self._client, self._settings.data_dir):
            try:
                await self.manager.run()
            finally:
                self._mode.remove_discarded()
                remove_shared_scratch(self._data)

    async def _isolation(self) -> str:
        await self.link.connected()
        return self._mode.isolation

    async def _sweep(self) -> None:
        await self.pods.synced()
        await self._leavings.run()

    def _pod_changed(self, change: Change) -> None:
        if change.kind == "deleted":
            self._leavings.gone(change.subject.uid)
        if self._slots.follow(change):
            for key in self._scheduler.next_in_line():
                self._scheduler_loop.enqueue(key)

    def _run_changed(self, run: Run) -> None:
        if not run.is_over:
            return
        for pod in self.pods.cache.by(UID, run.key.pod):
            self._pod_loop.enqueue(Key(pod.namespace, pod.name))
        if (waiting := self._pod_life.next_refused()) is not None:
            self._pod_loop.enqueue(waiting)


def _uid(cached: Cached) -> tuple[str]:
    return (cached.uid,)


def _is_leaving(change: Change) -> bool:
    return change.new is not None and change.new.is_being_deleted and not _was_leaving(change)


def _was_leaving(change: Change) -> bool:
    return change.old is not None and change.old.is_being_deleted


def _is_ended_by_others(change: Change) -> bool:
    """A pod that was deleted and may run."""
    return _is_leaving(change) and (change.subject.view.get("status") or {}).get("phase") not in ENDED


def _is_stopped(change: Change) -> bool:
    """A Job with work to do that was just suspended, or deleted."""
    if is_finished(change.subject.view):
        return False
    return _is_leaving(change) or (
        change.old is not None and _suspends(change.new) and not _suspends(change.old)
    )


def _suspends(job: Cached | None) -> bool:
    return job is not None and bool((job.view.get("spec") or {}).get("suspend"))


def _is_unbound(change: Change) -> bool:
    return change.new is not None and not change.new.view["spec"].get("nodeName")
