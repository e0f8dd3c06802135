"""The node agent: wires its controllers to one client and one data directory."""

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
from kubekit.controller.reconcile import Key, owner_key
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.events.event_recorder import EventLimits, EventRecorder
from picokube.nodeagent.cron_jobs import CronJobController
from picokube.nodeagent.data_directory import (
    AgentPaths,
    OrphanCleanup,
    claim_directory,
    remove_shared_scratch,
)
from picokube.nodeagent.jobs.job_controller import JobController
from picokube.nodeagent.jobs.job_plan import is_finished
from picokube.nodeagent.node import NodeRegistration, Scheduler, Slots, node_labels
from picokube.nodeagent.object_writes import TERMINAL_PHASES
from picokube.nodeagent.pods.environment import inherited_environment
from picokube.nodeagent.pods.pod_controller import PodController
from picokube.nodeagent.pods.process_mode import Host, HostProgram, ProcessMode
from picokube.nodeagent.supervisor.kernel import boot_id
from picokube.nodeagent.supervisor.protocol import Run
from picokube.nodeagent.supervisor_link import SupervisorLink

UID = "uid"
EVENT_DELAY = 1.0
"""Seconds before an Event is written, which gives way to the work it reports."""
NORMAL_EVENTS_BURST, NORMAL_EVENTS_PER_SECOND = 200, 10.0
"""Rate limit for Normal Events of all objects: reporting hundreds of short pods would cost more than running them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAgentSettings:
    """User-configurable settings."""

    data_dir: Path
    """Shared with the API server, which reads logs from its `pod-logs` directory."""
    node_name: str
    max_pods: int = 110
    keep_logs_seconds: float = 60.0
    """How long to keep logs and records after a pod is deleted."""
    mount_namespaces: bool = True
    """Use mount namespaces if the system allows them. Otherwise, mount paths are rewritten."""
    programs: tuple[HostProgram, ...] = ()
    """Host programs that containers of any user may start."""
    version: str = "0"
    workers: int = 16
    api_server: str = ""
    """URL of the API server for pods, such as `https://127.0.0.1:7447`. If empty, pods get no token."""


class NodeAgent:
    """Runs the Jobs, CronJobs and pods of one API server as local processes."""

    def __init__(
        self,
        client: Client,
        settings: NodeAgentSettings,
        *,
        now: Callable[[], datetime],
        urgent_work: UrgentWorkGate | None = None,
    ) -> None:
        self._client = client
        urgent_work = urgent_work or UrgentWorkGate()
        host = Host(user=os.geteuid(), group=os.getegid())
        data = settings.data_dir.absolute()
        self._data = data
        every = Namespaces.every()
        self.pods = Informer(client, PODS, namespaces=every, indexes={UID: _uid})
        jobs = Informer(client, JOBS, namespaces=every)
        crons = Informer(client, CRON_JOBS, namespaces=every)
        self.link = SupervisorLink(AgentPaths(data=data).supervisor)
        events = EventRecorder(
            client,
            component="jangar-node-agent",
            now=now,
            limits=EventLimits(
                patience=EVENT_DELAY,
                normal_burst=NORMAL_EVENTS_BURST,
                normal_per_second=NORMAL_EVENTS_PER_SECOND,
            ),
            urgent_work=urgent_work,
        )
        slots = Slots(settings.node_name, settings.max_pods)
        mode = ProcessMode(
            data=data,
            host=host,
            inherited=inherited_environment(os.environ),
            link=self.link,
            may_use_namespaces=settings.mount_namespaces,
            programs=settings.programs,
        )
        self._slots, self._settings, self._mode = slots, settings, mode
        self._pod_controller = pod_controller = PodController(
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
        job_controller = JobController(
            client,
            jobs.cache,
            self.pods.cache,
            slots,
            events,
            stop=pod_controller.stop,
            gate=urgent_work,
            now=now,
        )
        cron_controller = CronJobController(client, crons.cache, jobs.cache, events, now=now)
        self._orphan_cleanup = OrphanCleanup(
            self.link,
            lambda: mode.paths,
            lambda uid: bool(self.pods.cache.by(UID, uid)),
            remove_discarded=mode.remove_discarded,
            keep_seconds=settings.keep_logs_seconds,
        )
        self._pod_loop = Controller(
            "pod", pod_controller.reconcile, workers=settings.workers, urgent_work=urgent_work
        )
        self._scheduler_loop = Controller(
            "scheduler", self._scheduler.reconcile, workers=1, urgent_work=urgent_work
        )
        job_loop = Controller(
            "job", job_controller.reconcile, workers=settings.workers, urgent_work=urgent_work
        )
        cron_loop = Controller("cronjob", cron_controller.reconcile, workers=2, urgent_work=urgent_work)
        self.pods.subscribe(self._on_pod_change)
        self.link.subscribe(self._on_run_change)
        self._pod_loop.watch(self.pods, where=_deletes_unfinished_pod, first=True)
        self._pod_loop.watch(self.pods, where=pod_controller.needs_reconcile)
        self._scheduler_loop.watch(self.pods, where=_is_unbound)
        job_loop.watch(jobs, where=_stops_job, first=True)
        job_loop.watch(jobs)
        job_loop.watch(self.pods, owner_key("Job"), where=job_controller.pod_needs_reconcile)
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
        self.manager.add_service("orphan-cleanup", self._clean_up_orphans)

    async def run(self) -> None:
        """Run until canceled or stopped. Containers keep running under the supervisor process."""
        async with claim_directory(self._client, self._settings.data_dir):
            try:
                await self.manager.run()
            finally:
                self._mode.remove_discarded()
                remove_shared_scratch(self._data)

    async def _isolation(self) -> str:
        await self.link.connected()
        return self._mode.isolation

    async def _clean_up_orphans(self) -> None:
        await self.pods.synced()
        await self._orphan_cleanup.run()

    def _on_pod_change(self, change: Change) -> None:
        if change.kind == "deleted":
            self._orphan_cleanup.kill_containers(change.subject.uid)
        if self._slots.observe(change):
            for key in self._scheduler.next_pods():
                self._scheduler_loop.enqueue(key)

    def _on_run_change(self, run: Run) -> None:
        if not run.is_over:
            return
        for pod in self.pods.cache.by(UID, run.key.pod):
            self._pod_loop.enqueue(Key(pod.namespace, pod.name))
        if (waiting := self._pod_controller.next_refused_pod()) is not None:
            self._pod_loop.enqueue(waiting)


def _uid(cached: Cached) -> tuple[str]:
    return (cached.uid,)


def _starts_deletion(change: Change) -> bool:
    was_being_deleted = change.old is not None and change.old.is_being_deleted
    return change.new is not None and change.new.is_being_deleted and not was_being_deleted


def _deletes_unfinished_pod(change: Change) -> bool:
    phase = (change.subject.view.get("status") or {}).get("phase")
    return _starts_deletion(change) and phase not in TERMINAL_PHASES


def _stops_job(change: Change) -> bool:
    """Whether an unfinished Job was just suspended or deleted."""
    if is_finished(change.subject.view):
        return False
    return _starts_deletion(change) or (
        change.old is not None and _is_suspended(change.new) and not _is_suspended(change.old)
    )


def _is_suspended(job: Cached | None) -> bool:
    return job is not None and bool((job.view.get("spec") or {}).get("suspend"))


def _is_unbound(change: Change) -> bool:
    return change.new is not None and not change.new.view["spec"].get("nodeName")
