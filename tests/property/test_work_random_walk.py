"""A child's Job through random lives: crashes between record and act, stale caches, cancels, deletions, lost Jobs."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from jangar.api.phases import OnJobMissing
from jangar.domain.cancellation import Requester
from jangar.domain.job_execution.observation import Owner, WorkLimits
from jangar.domain.job_execution.record import AttemptLimits
from jangar.domain.job_execution.workflow import Loop, RuntimeStep
from kubekit.times import parse_rfc3339
from support.trials import in_blocks, seeds
from support.work_world import ENDED, STEP_ENDED, Death, a_world

STEPS = 40
MAX_ENDS = 4
"""Recorded ends that may follow each other without actions in between: of a Job, and of the child that was stopped.
"""
CODES = (0, 0, 0, 1, 137)
COURSES = (
    (),
    (),
    (RuntimeStep(name="plan"), RuntimeStep(name="code")),
    (RuntimeStep(name="plan", loop=Loop(max_iterations=3)), RuntimeStep(name="code")),
)
FIXED = ("startedAt", "finishedAt")


class Walk:
    """One life; everything follows from the seed."""

    def __init__(self, seed):
        self.random = random = Random(seed)  # noqa: S311 - a story, not a secret
        owner = random.choice((Owner.NONE, Owner.ACTIVE))
        self.world = a_world(
            owner=owner,
            workflow=random.choice(COURSES),
            attempt_limits=AttemptLimits(
                retries=random.choice((0, 0, 2)),
                backoff_seconds=random.choice((0, 5)),
                timeout_seconds=random.choice((None, None, 20)),
            ),
            has_finalizer=random.random() < 0.5,
            on_job_missing=random.choice(tuple(OnJobMissing)),
            limits=WorkLimits(
                cancel_timeout=timedelta(seconds=random.choice((5, 60))),
                request_timeout=timedelta(seconds=10),
            ),
        )

    def run(self):
        for _ in range(STEPS):
            self.step()
        self.settle()

    def step(self):
        world, random = self.world, self.random
        world.advance(random.choice((0, 0.1, 0.7, 3, 11)))
        world.lagging = random.random() < 0.3
        self.cluster()
        if random.random() < 0.25:
            self.person()
        if random.random() < 0.7:
            world.sync_caches()
        dies_at = random.randrange(4) if random.random() < 0.3 else None
        self.one_pass(dies_at=dies_at)

    def one_pass(self, *, dies_at=None):
        before = dict(self.world.status)
        self.check_repeats()
        try:
            return self.world.run_pass(dies_at=dies_at)
        except Death:
            return None
        finally:
            self.check(before)

    def check_repeats(self):
        """Repeat a pass that crashed after its write: the same actions, and no write."""
        world = self.world
        if world.gone:
            return
        observation, plan = world.planned()
        for _ in range(MAX_ENDS):
            ended = is_new_end(observation.recorded, plan.status)
            world = replace(world, status=world.recorded(plan))
            before, (observation, plan) = plan, world.planned()
            if not ended:
                break
        assert plan.actions == before.actions, "another pass does something else"
        assert observation.recorded is plan.status or observation.recorded == plan.status, "written once more"

    def check(self, before):
        after = self.world.status
        if before.get("phase") in ENDED:
            assert after["phase"] == before["phase"], "a terminal phase was left"
            assert after["outcome"] == before["outcome"], "an outcome was changed"
        for name in FIXED:
            assert before.get(name) in {None, after.get(name)}, f"{name} moved"
        self.check_stages(before, after)
        if after.get("startedAt") and after.get("phase") in ENDED:
            assert parse_rfc3339(after["finishedAt"]) >= parse_rfc3339(after["startedAt"])
        assert all(count == 1 for count in self.world.creates.values()), "one attempt, two Jobs"
        alive = [pod for pod in self.world.pods.values() if not pod.is_over]
        assert len({item.name.rsplit("-", 1)[0] for item in alive}) <= 1, "two attempts run at once"

    def check_stages(self, before, after):
        """Stages run in order, one at a time, and none is released again after it ended."""
        old, new = (((item.get("workflow") or {}).get("steps") or ()) for item in (before, after))
        for one, other in zip(old, new, strict=False):
            if one["phase"] in STEP_ENDED:
                assert one == other, "a stage was changed after its end"
        started = [item["name"] for item in new if item.get("job")]
        assert started == [item["name"] for item in new][: len(started)], "a stage began before its turn"
        for item in new[: len(started) - 1] if started else ():
            assert item["phase"] == "Succeeded", "a stage began after one that did not succeed"

    def cluster(self):
        world, random = self.world, self.random
        for action in list(world.on_the_wire):
            sent_recently = world.now - world.child.created_at < timedelta(minutes=1)
            if random.random() < 0.5:
                world.on_the_wire.remove(action)
                note = world.status.get("job") or {}
                wanted = note.get("name") == action.name and not note.get("uid")
                if sent_recently and world.job is None and wanted and world.status["phase"] not in ENDED:
                    world.create(action)
        if random.random() < 0.6:
            world.sync_job()
        for uid, pod in list(world.pods.items()):
            if random.random() < 0.5:
                self.kubelet(uid, pod)

    def kubelet(self, uid, pod):
        world, random = self.world, self.random
        if pod.is_over:
            return
        if any(container.terminated for container in pod.containers):
            world.end_pod(uid)
        elif pod.phase == "Pending":
            if pod.deleting:
                world.end_pod(uid)
            else:
                world.start_pod(uid)
        elif pod.deleting:
            world.end_containers(uid, random.choice((0, 143)))
        elif random.random() < 0.4:
            world.end_containers(uid, random.choice(CODES))

    def person(self):  # noqa: C901 - one case for each thing that people do
        world, random = self.world, self.random
        match random.randrange(10):
            case 0:
                requesters = world.child.requested_by | {Requester.CANCEL}
                world.child = replace(world.child, requested_by=requesters, generation=2)
            case 1 if random.random() < 0.5:
                self.delete_child()
            case 2 | 3:
                world.child = replace(world.child, suspend=not world.child.suspend)
            case 4 if world.owner is Owner.ACTIVE:
                world.owner = random.choice((Owner.STOPPING, Owner.GONE))
            case 5 if world.job is not None:
                world.job = replace(world.job, deleting=True)
                if not world.job.finalizers:
                    world.lose_job()
            case 6 if (world.status.get("job") or {}).get("uid") and world.job is not None:
                world.lose_job()
            case 7 if world.pods:
                pod = random.choice(list(world.pods.values()))
                if not pod.is_over:
                    moment = world.now.replace(microsecond=0)
                    world.pods[pod.uid] = replace(
                        pod, deleting=True, deletion_requested_at=moment, disrupted=True, disrupted_at=moment
                    )
            case 8 if world.pods and world.job is not None and world.job.finalizers:
                world.add_pod()
            case _:
                pass

    def delete_child(self):
        child = self.world.child
        if child.deleted_at is None:
            requesters = child.requested_by | {Requester.DELETION}
            self.world.child = replace(child, requested_by=requesters, deleted_at=self.world.now)

    def settle(self):
        """Without further user actions the child reaches its end."""
        world = self.world
        world.lagging = False
        world.child = replace(world.child, suspend=False)
        for _ in range(200):
            self.cluster()
            plan = self.one_pass()
            if plan is not None and plan.look_again_at is not None:
                world.now = max(world.now, min(plan.look_again_at, world.now + timedelta(seconds=30)))
            world.advance(0.5)
            if world.gone or (world.status.get("phase") in ENDED and self.is_quiet(plan)):
                break
        else:
            raise AssertionError(f"no end: {world}")
        if not world.gone:
            held = [pod for pod in (world.job, *world.pods.values()) if pod and pod.finalizers]
            assert not held, "held after its end"

    def is_quiet(self, plan):
        if plan is None or plan.actions:
            return False
        left = (self.world.status.get("cancel") or {}).get("leftBehind") or ()
        running = [pod for pod in self.world.pods.values() if not pod.is_over]
        held = [pod for pod in (self.world.job, *self.world.pods.values()) if pod and pod.finalizers]
        return all(item.get("endedAt") for item in left) and not running and not held


def is_new_end(before, after):
    """Whether the end of a Job was recorded: later passes perform its actions."""
    if after.lifecycle.is_terminal or len(after.attempts) > len(before.attempts):
        return not before.lifecycle.is_terminal
    moved = after.stage is not None and not after.stage.owns(after.job)
    return moved and before.stage is not None and before.stage.owns(before.job)


@pytest.mark.rule("RUN-3", "GC-1", "GC-2", "CAN-2", "DAG-9")
@in_blocks
def test_no_life_starts_work_twice_or_loses_an_outcome(block):
    """One Job for each attempt, none after a stop, an outcome before every release, and no finalizer in the end."""
    for seed in seeds(block):
        try:
            Walk(seed).run()
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def test_the_walks_reach_every_outcome():
    """Otherwise they would prove nothing."""
    ends = set()
    for seed in range(150):
        walk = Walk(seed)
        walk.run()
        ends.add((walk.world.status.get("phase"), walk.world.status.get("reason")))
    assert {phase for phase, _ in ends} == ENDED
    assert {reason for _, reason in ends} >= {
        "Succeeded",
        "NonZeroExit",
        "Cancelled",
        "StepTimedOut",
        "JobDeleted",
        "Evicted",
        "WorkflowJobMissing",
    }
