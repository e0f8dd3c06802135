"""What a controller does with keys, results and errors."""

import asyncio
import logging
from itertools import pairwise

import pytest

from kubekit.cache.object_cache import Cache, Cached, Change
from kubekit.client.errors import Conflict, Forbidden, NotSent, ServerFailure, TooManyRequests
from kubekit.controller.controller import Controller, Outcome
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, TerminalError, own_key, owner_key
from support.virtual_time import run_virtual

KEY = Key("ns", "a")


def now():
    return asyncio.get_running_loop().time()


class Story:
    """A reconciler with scripted results, and a diary of when it was called and how it ended."""

    def __init__(self, *answers, **options):
        self.answers = list(answers)
        self.passes = []
        self.outcomes = []
        self.controller = Controller("toolrun", self.reconcile, random=lambda: 1.0, **options)
        self.controller.on_pass = self.note

    async def reconcile(self, key):
        self.passes.append((key.name, now()))
        answer = self.answers.pop(0) if self.answers else DONE
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return await answer(key)
        return answer

    def note(self, controller, outcome, seconds):
        self.outcomes.append(outcome)

    def tell(self, *keys, seconds=100.0):
        async def main():
            running = asyncio.create_task(self.controller.run())
            for key in keys or (KEY,):
                self.controller.enqueue(key)
            await asyncio.sleep(seconds)
            self.controller.stop()
            await running

        run_virtual(main())
        return [moment for _, moment in self.passes]


def test_done_waits_for_a_change():
    """One key, one pass."""
    story = Story(DONE)
    assert story.tell() == [0]
    assert story.outcomes == [Outcome.DONE]


def test_look_again_comes_back_at_its_time():
    """Even if nothing changes."""
    story = Story(RequeueAfter(after=7.5), RequeueAfter(after=2), DONE)
    assert story.tell() == [0, 7.5, 9.5]
    assert story.outcomes == [Outcome.LOOK_AGAIN, Outcome.LOOK_AGAIN, Outcome.DONE]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(ServerFailure("down", status=503), Outcome.TRANSIENT, id="server-failure"),
        pytest.param(NotSent("refused"), Outcome.TRANSIENT, id="not-sent"),
        pytest.param(Forbidden("no", status=403), Outcome.ERROR, id="forbidden"),
        pytest.param(KeyError("bug"), Outcome.ERROR, id="bug"),
        pytest.param(TimeoutError("an inner one"), Outcome.ERROR, id="a-timeout-within"),
    ],
)
def test_errors_are_tried_again_with_growing_waits(error, outcome):
    """5 ms, 10 ms, 20 ms; a success starts over."""
    story = Story(error, error, error, DONE)
    assert story.tell() == pytest.approx([0, 0.005, 0.015, 0.035])
    assert story.outcomes == [outcome, outcome, outcome, Outcome.DONE]
    assert story.controller.queue.failures(KEY) == 0


def test_a_conflict_comes_back_soon_however_often():
    """The cache catches up in milliseconds: the wait never grows over a second."""
    story = Story(*[Conflict("newer", status=409)] * 12, DONE)
    times = story.tell()
    assert len(times) == 13
    assert max(later - earlier for earlier, later in pairwise(times)) < 1.001


def test_a_server_that_asks_for_patience_gets_it():
    """Retry-After is a lower bound of the wait."""
    story = Story(TooManyRequests("slow down", status=429, retry_after=9.0), DONE)
    assert story.tell() == [0, 9]


def test_a_terminal_error_is_reported_and_not_tried_again(caplog):
    """Only a change brings the key back."""
    story = Story(TerminalError("the image name is empty"))
    assert story.tell() == [0]
    assert [record.error for record in caplog.records] == ["the image name is empty"]


def test_a_bug_is_reported_with_its_traceback(caplog):
    """The log says which controller and which object."""
    Story(KeyError("spec")).tell()
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert (record.controller, record.key) == ("toolrun", "ns/a")
    assert record.exc_info[0] is KeyError


def test_a_pass_has_a_time_limit():
    """One that hangs is ended and tried again."""

    async def hang(key):
        await asyncio.Event().wait()

    story = Story(hang, DONE, time_limit=60)
    assert story.tell() == pytest.approx([0, 60.005])
    assert story.outcomes == [Outcome.TIMED_OUT, Outcome.DONE]


def test_one_key_is_in_one_pass_at_a_time_and_others_do_not_wait():
    """Eight workers, one slow key: its changes during the pass are one more pass, others run concurrently."""

    async def slow(key):
        story.controller.enqueue(key)
        story.controller.enqueue(key)
        await asyncio.sleep(10)
        return DONE

    story = Story(slow)
    story.tell(KEY, Key("ns", "b"), Key("ns", "c"))
    assert story.passes == [("a", 0), ("b", 0), ("c", 0), ("a", 10)]


def test_workers_are_bounded():
    """Not more passes at once than workers."""

    async def slow(key):
        await asyncio.sleep(10)
        return DONE

    story = Story(slow, slow, slow, slow, workers=2)
    assert story.tell(*(Key("ns", name) for name in "abcd")) == [0, 0, 10, 10]


def test_a_flood_of_quick_passes_leaves_turns_to_others():
    """Ten thousand finished runs at start do not delay a lease renewal."""
    story = Story(workers=2)

    async def main():
        running = asyncio.create_task(story.controller.run())
        for number in range(1000):
            story.controller.enqueue(Key("ns", f"run-{number}"))
        turns = 0
        while len(story.passes) < 1000:
            await asyncio.sleep(0)
            turns += 1
        story.controller.stop()
        await running
        return turns

    assert run_virtual(main()) >= 500


def test_stopping_finishes_the_pass_under_way_and_begins_none():
    """What waits is left to the next process."""

    async def slow(key):
        await asyncio.sleep(10)
        return DONE

    story = Story(slow, slow, workers=1)
    story.tell(Key("ns", "a"), Key("ns", "b"), seconds=5)
    assert story.passes == [("a", 0)]
    assert story.outcomes == [Outcome.DONE]


def test_a_pass_that_cannot_be_ended_is_reported_as_a_problem():
    """One that swallows its cancellation is stuck: only a restart helps."""

    async def stubborn(key):
        ends = now() + 1000
        while now() < ends:
            try:
                await asyncio.sleep(ends - now())
            except asyncio.CancelledError:  # what no reconciler should do
                asyncio.current_task().uncancel()
        return DONE

    story = Story(stubborn, time_limit=60)

    async def main():
        running = asyncio.create_task(story.controller.run())
        story.controller.enqueue(KEY)
        await asyncio.sleep(100)
        assert story.controller.problems() == []
        await asyncio.sleep(50)
        assert story.controller.problems() == [
            "controller toolrun: reconciling ns/a is stuck (running for 150 s)"
        ]
        story.controller.stop()
        await running

    run_virtual(main())


def test_without_authority_nothing_begins_and_what_runs_ends():
    """A process that lost its lease ends its passes at once, and does not try them again."""
    held = {"ns/a": True, "ns/b": False}

    async def slow(key):
        await asyncio.sleep(10)
        return DONE

    story = Story(slow, slow, may_act=lambda key: held[str(key)])

    async def main():
        running = asyncio.create_task(story.controller.run())
        story.controller.enqueue(KEY)
        story.controller.enqueue(Key("ns", "b"))
        await asyncio.sleep(3)
        held["ns/a"] = False
        story.controller.abandon_lost()
        await asyncio.sleep(20)
        story.controller.stop()
        await running

    run_virtual(main())
    assert story.passes == [("a", 0)]
    assert story.outcomes == [Outcome.NOT_OURS, Outcome.ABANDONED]


class Watched:
    """The part of an informer that a controller uses."""

    def __init__(self):
        self.cache = Cache(report=pytest.fail)
        self.subscribe = self.cache.subscribe


def an_object(name, *, owner=None, version="1"):
    metadata = {"namespace": "ns", "name": name, "uid": f"uid-{name}", "resourceVersion": version}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "ToolRun", "name": owner, "uid": f"uid-{owner}", "controller": True},
            {"apiVersion": "v1", "kind": "ToolRun", "name": "mere-owner", "uid": "x"},
        ]
    return Cached.of({"apiVersion": "v1", "kind": "Thing", "metadata": metadata})


def test_changes_of_an_object_and_of_what_it_owns_bring_its_key():
    """Objects by themselves, children by the owner that controls them, filtered where asked."""
    story = Story()
    runs, jobs, quiet = Watched(), Watched(), Watched()
    story.controller.watch(runs)
    story.controller.watch(jobs, owner_key("ToolRun"))
    story.controller.watch(quiet, where=lambda change: change.kind == "deleted")

    async def main():
        running = asyncio.create_task(story.controller.run())
        runs.cache.upsert(an_object("own"))
        jobs.cache.upsert(an_object("job", owner="parent"))
        quiet.cache.upsert(an_object("unheard"))
        await asyncio.sleep(1)
        assert [name for name, _ in story.passes] == ["own", "parent"]
        story.controller.enqueue_all()
        await asyncio.sleep(1)
        story.controller.stop()
        await running

    run_virtual(main())
    assert [name for name, _ in story.passes] == ["own", "parent"] * 2


def test_a_child_that_changes_its_owner_enqueues_both():
    """The old owner lost something, the new one got it."""
    change = Change(kind="changed", old=an_object("job", owner="before"), new=an_object("job", owner="after"))
    assert set(owner_key("ToolRun")(change)) == {Key("ns", "before"), Key("ns", "after")}
    assert list(owner_key("Pod")(change)) == []
    assert list(own_key(change)) == [Key("ns", "job")]
