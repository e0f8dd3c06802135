"""A child, its Job and its pods as a simulation without I/O: a pass may crash anywhere, and caches are stale.

Behaves like a real cluster; an action that no pass may take fails at once.
"""

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta

from jangar.domain.job_execution.actions import (
    AddChildFinalizer,
    CreateJob,
    DeleteChild,
    DeleteJob,
    DeletePod,
    DeletePods,
    EndDuplicate,
    ReadCreateError,
    ReadOwner,
    ReadWork,
    ReleaseJob,
    ReleasePod,
    RemoveChildFinalizer,
    SetTtl,
    StoreLogs,
    SuspendJob,
)
from jangar.domain.job_execution.cleanup import OUTCOME_FINALIZER
from jangar.domain.job_execution.facts import ContainerFacts, JobFacts, PodFacts, TemplateNames, Terminated
from jangar.domain.job_execution.observation import (
    ChildFacts,
    Owner,
    WorkDefined,
    WorkLimits,
    WorkObservation,
)
from jangar.domain.job_execution.plan import plan_work
from jangar.domain.job_execution.presence import ConfirmedAbsent, NotInCache
from jangar.domain.job_execution.status_document import WORK_FIELDS, work_document, work_record
from support.builders import NOON

TEMPLATE = TemplateNames(containers=("main",))
ENDED = frozenset({"Succeeded", "Failed", "Cancelled"})
STEP_ENDED = ENDED | {"Skipped"}
MAX_READS = 8


class Death(Exception):
    """The process crashed."""


@dataclass
class WorkWorld:
    """The actual state, the record, and the caches."""

    child: ChildFacts
    owner: Owner = Owner.NONE
    work: object = field(default_factory=WorkDefined)
    workflow: tuple = ()
    """Stages, if the work has more than one Job."""
    limits: WorkLimits = field(default_factory=WorkLimits)
    now: object = NOON
    status: dict = field(default_factory=dict)
    job: JobFacts | None = None
    pods: dict[str, PodFacts] = field(default_factory=dict)
    gone: bool = False
    create_error: str = ""
    """The Job controller's error for a pod that it cannot create."""
    creates: Counter = field(default_factory=Counter)
    on_the_wire: list[CreateJob] = field(default_factory=list)
    shown: tuple = (None, ())
    """Job and pods in the caches."""
    lagging: bool = False
    uids: int = 0
    logs: list | None = None
    """Jobs and titles of the stored logs in order; None if logs are not stored."""
    started: dict = field(default_factory=dict)
    """When the containers of a pod started, by its uid."""

    # Passes.

    def observation(self, *, owner=None, live=False, create_error=None):
        record = work_record(self.status)
        job, pods = (self.job, tuple(self.pods.values())) if live or not self.lagging else self.shown
        name = record.job.name if record.job else None
        ours = job if job is not None and job.name == name else None
        return WorkObservation(
            child=self._child(record),
            workflow=self.workflow,
            has_runner=bool(self.workflow),
            work=self.work,
            template=TEMPLATE,
            recorded=record,
            owner=owner or (self.owner if self.owner is Owner.NONE else Owner.NOT_READ),
            job=ours or (ConfirmedAbsent() if live else NotInCache()),
            pods=tuple(pod for pod in pods if name and pod.name.startswith(f"{name}-")),
            live=live,
            create_error=create_error,
            logs_kept=self.logs is None or name in [job for job, _ in self.logs],
            limits=self.limits,
        )

    def _child(self, record):
        """With the limits of the current attempt, as a controller reads them."""
        attempt_limits = (record.job and record.job.attempt_limits) or self.child.attempt_limits
        if attempt_limits is None:
            return self.child
        timeout = (
            timedelta(seconds=attempt_limits.timeout_seconds) if attempt_limits.timeout_seconds else None
        )
        return replace(self.child, retries=attempt_limits.retries or 0, timeout=timeout)

    def planned(self):
        """The plan of a whole pass with its reads answered."""
        owner, live, create_error = None, False, None
        for _ in range(MAX_READS):
            observation = self.observation(owner=owner, live=live, create_error=create_error)
            plan = plan_work(observation, self.now)
            if not plan.reads:
                return observation, plan
            for read in plan.reads:
                match read:
                    case ReadOwner():
                        assert owner is None, "the owner was read twice"
                        owner = self.owner
                    case ReadWork():
                        assert not live, "the work was read twice"
                        live = True
                    case ReadCreateError():
                        assert create_error is None, "the events were read twice"
                        create_error = self.create_error
        raise AssertionError("a plan never stops asking")

    def document(self, plan):
        """As read from the API server."""
        return json.loads(json.dumps(work_document(plan.status, name=self.child.name, namespace="default")))

    def recorded(self, plan):
        """The status after the plan's write; fields of other writers stay."""
        kept = {name: value for name, value in self.status.items() if name not in WORK_FIELDS}
        return kept | self.document(plan)

    def run_pass(self, *, dies_at=None):
        """One pass; it crashes before its n-th write."""
        if self.gone:
            return None
        observation, plan = self.planned()
        writes = iter(range(100))
        if plan.status is not observation.recorded:
            _alive(writes, dies_at)
            self.status = self.recorded(plan)
        for action in plan.actions:
            try:
                _alive(writes, dies_at)
            except Death:
                if isinstance(action, CreateJob):
                    self.on_the_wire.append(action)
                raise
            self.act(action)
        return plan

    # Effects of actions.

    def act(self, action):  # noqa: C901, PLR0912 - one case for each action
        match action:
            case CreateJob():
                self._check_may_create(action)
                self.create(action)
            case SuspendJob(uid=uid):
                assert self.status.get("stop"), "suspended before it was announced"
                self._on_job(uid, suspended=True)
            case SetTtl(uid=uid, seconds=seconds):
                self._on_job(uid, ttl_seconds=seconds)
            case ReleaseJob(uid=uid):
                assert self._is_evaluated(), "released before its outcome was recorded"
                self._on_job(uid, finalizers=())
            case StoreLogs(job=job, title=title):
                assert self.logs is not None
                assert job not in [item for item, _ in self.logs], "a log was kept twice"
                self.logs.append((job, title))
            case ReleasePod(uid=uid):
                assert self._is_evaluated(), "released before its outcome was recorded"
                assert self._is_kept(uid), "released before its log was kept"
                self._on_pod(uid, finalizers=())
            case DeletePod(uid=uid) | EndDuplicate(uid=uid):
                self._delete_pod(uid)
            case DeletePods(uids=uids):
                for uid in uids:
                    self._delete_pod(uid)
            case DeleteJob(uid=uid):
                self._on_job(uid, deleting=True)
            case AddChildFinalizer():
                self.child = replace(self.child, has_finalizer=True)
            case RemoveChildFinalizer():
                held = [pod for pod in (self.job, *self.pods.values()) if pod and pod.finalizers]
                assert not held, "the child is gone and left something with a finalizer forever"
                self.gone = True
            case DeleteChild():
                assert self.status.get("phase") in ENDED
                self.child = replace(self.child, deleted_at=self.now)
            case _:
                raise AssertionError(f"unknown action {action}")

    def _check_may_create(self, action):
        phase = self.status.get("phase")
        assert phase not in ENDED | {"Cancelling"}, "a Job for a child that ends or has ended"
        assert not self.status.get("stop"), "a Job for work that is being stopped"
        assert self.status["job"]["name"] == action.name, "a Job before its intent was recorded"
        assert self.owner in {Owner.NONE, Owner.ACTIVE}, "a Job for a run that is ending or gone"
        assert self.child.has_finalizer, "a Job for a child that may go at any time"
        assert not self.child.suspend, "a Job for a suspended child"

    def _is_kept(self, uid):
        pod = self.pods.get(uid)
        skipped = pod is None or self.logs is None
        return skipped or any(pod.name.startswith(f"{job}-") for job, _ in self.logs)

    def _is_evaluated(self):
        lost = [attempt["attempt"] for attempt in self.status.get("attempts") or ()]
        note = self.status["job"]
        return bool(self.status.get("outcome")) or note["attempt"] in lost or self._is_past(note)

    def _is_past(self, note):
        """Whether the Job belongs to a stage or iteration whose end is recorded."""
        steps = {item["name"]: item for item in (self.status.get("workflow") or {}).get("steps") or ()}
        step = steps.get(note.get("step"))
        if step is None:
            return False
        loop = step.get("loop") or {}
        return step["phase"] in STEP_ENDED or loop.get("currentIteration") != note.get("iteration")

    def create(self, action):
        """The API server receives the request, now or later."""
        if self.job is not None and self.job.name == action.name:
            return
        assert self.job is None or not self.job.finalizers, "a second Job in addition to the first"
        self.uids += 1
        self.creates[action.name] += 1
        self.job = JobFacts(
            name=action.name,
            uid=f"job-{self.uids}",
            created_at=self.now.replace(microsecond=0),
            finalizers=(OUTCOME_FINALIZER,),
        )

    def _on_job(self, uid, **changes):
        if self.job is not None and self.job.uid == uid:
            self.job = replace(self.job, **changes)
            self._collect()

    def _on_pod(self, uid, **changes):
        if uid in self.pods:
            self.pods[uid] = replace(self.pods[uid], **changes)
            self._collect()

    def _delete_pod(self, uid):
        if uid in self.pods and not self.pods[uid].deleting:
            self._on_pod(uid, deleting=True, deletion_requested_at=self.now.replace(microsecond=0))

    def _collect(self):
        """Delete terminating objects without finalizers; pods are deleted with their Job."""
        if self.job is not None and self.job.deleting and not self.job.finalizers:
            self.lose_job()
        for uid, pod in list(self.pods.items()):
            if pod.deleting and not pod.finalizers and pod.is_over:
                del self.pods[uid]

    # Actions of the cluster.

    def lose_job(self):
        """The Job vanishes, and the garbage collector deletes its pods."""
        self.job = None
        self.on_the_wire.clear()
        for uid in list(self.pods):
            self._delete_pod(uid)

    def add_pod(self):
        self.uids += 1
        uid = f"pod-{self.uids}"
        self.pods[uid] = PodFacts(
            name=f"{self.job.name}-{self.uids}",
            uid=uid,
            created_at=self.now,
            phase="Pending",
            containers=(ContainerFacts(name="main"),),
            finalizers=(OUTCOME_FINALIZER,),
        )
        self.job = replace(self.job, active=1)

    def start_pod(self, uid):
        self.started[uid] = self.now.replace(microsecond=0)
        self._on_pod(uid, phase="Running", containers=(ContainerFacts(name="main", running=True),))

    def end_containers(self, uid, code, result=None):
        moment = self.now.replace(microsecond=0)
        end = Terminated(
            exit_code=code, started_at=self.started.get(uid, moment), finished_at=moment, message=result
        )
        self._on_pod(uid, containers=(ContainerFacts(name="main", terminated=end),))

    def end_pod(self, uid):
        codes = [
            container.terminated.exit_code for container in self.pods[uid].containers if container.terminated
        ]
        good = bool(codes) and not any(codes)
        self._on_pod(uid, phase="Succeeded" if good else "Failed")

    def sync_job(self):
        """A sync of the Job controller; it skips a Job that is being deleted."""
        job = self.job
        if job is None or job.deleting or job.complete or job.failed:
            return
        pods = [pod for pod in self.pods.values() if pod.name.startswith(f"{job.name}-")]
        over = [pod for pod in pods if pod.is_over]
        if job.suspended:
            for pod in pods:
                if not pod.is_over:
                    self._delete_pod(pod.uid)
            if len(over) == len(pods):
                self.job = replace(job, at_rest=True, active=0)
        elif over and len(over) == len(pods):
            good = any(item.phase == "Succeeded" for item in over)
            self.job = replace(
                job, active=0, complete=good, failed=not good, verdict_at=self.now.replace(microsecond=0)
            )
        elif not pods and not job.active:
            self.add_pod()

    def advance(self, seconds):
        self.now += timedelta(seconds=seconds)

    def sync_caches(self):
        self.shown = (self.job, tuple(self.pods.values()))


def _alive(writes, dies_at):
    if next(writes) == dies_at:
        raise Death


def a_world(**facts):
    """A new child without an owner."""
    defaults = {"name": "build", "uid": "c1", "generation": 1, "created_at": NOON}
    given = {name: facts.pop(name) for name in list(facts) if name in ChildFacts.__dataclass_fields__}
    return WorkWorld(child=ChildFacts(**(defaults | given)), **facts)
