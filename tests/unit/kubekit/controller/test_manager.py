"""In which order parts start and stop, and what is reported when one fails."""

import asyncio

import pytest

from kubekit.controller.controller import Controller
from kubekit.controller.manager import Manager, PartFailed, Stage
from kubekit.controller.reconcile import DONE, Key
from support.virtual_time import run_virtual


class Diary(list):
    def part(self, name, *, lists_after=1.0, breaks_after=None):
        return Part(self, name, lists_after, breaks_after)


class Part:
    """Something that runs, as much of it as the manager sees: an informer or a service."""

    longest_silence = 180.0

    def __init__(self, diary, name, lists_after, breaks_after):
        self.diary, self.name = diary, name
        self.lists_after, self.breaks_after = lists_after, breaks_after
        self.listed = asyncio.Event()
        self.last_message_at = 0.0

    async def run(self):
        self.diary.append(f"{self.name} starts")
        try:
            await asyncio.sleep(self.lists_after)
            self.listed.set()
            if self.breaks_after is not None:
                await asyncio.sleep(self.breaks_after)
                raise RuntimeError("disk full")
            await asyncio.Event().wait()
        finally:
            self.diary.append(f"{self.name} stops")

    async def synced(self):
        await self.listed.wait()

    @property
    def has_synced(self):
        return self.listed.is_set()

    def age(self):
        return asyncio.get_running_loop().time() - self.last_message_at


def a_process(diary, **parts):
    async def reconcile(key):
        diary.append(f"pass over {key.name} starts")
        await asyncio.sleep(5)
        diary.append(f"pass over {key.name} ends")
        return DONE

    manager = Manager(**{name: parts.pop(name) for name in ("stop_bound",) if name in parts})
    manager.add_service("recorder", parts.get("recorder", diary.part("recorder")).run)
    manager.add_service("elector", diary.part("elector").run)
    manager.add_informer("jobs", parts.get("jobs", diary.part("jobs", lists_after=3)))
    controller = Controller("toolrun", reconcile)
    manager.add_controller(controller)
    return manager, controller


async def stopped_after(manager, seconds):
    async def stop():
        await asyncio.sleep(seconds)
        manager.stop()

    async with asyncio.TaskGroup() as group:
        group.create_task(stop())
        group.create_task(manager.run())


def test_parts_start_and_stop_in_order():
    """Services, informers, then controllers; backwards at the end, and the pass under way is finished first."""
    diary = Diary()

    async def main():
        manager, controller = a_process(diary)
        controller.enqueue(Key("ns", "a"))
        await stopped_after(manager, 4)
        assert manager.stage is Stage.STOPPED
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 8
    assert diary == [
        "recorder starts",
        "elector starts",
        "jobs starts",
        "pass over a starts",
        "pass over a ends",
        "jobs stops",
        "elector stops",
        "recorder stops",
    ]


def test_a_pass_that_takes_too_long_is_ended_at_the_bound():
    """The end has a bound: the orchestrator would kill the process anyway."""
    diary = Diary()

    async def main():
        manager, controller = a_process(diary, stop_bound=2.0)
        controller.enqueue(Key("ns", "a"))
        await stopped_after(manager, 4)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 6
    assert "pass over a ends" not in diary


def test_stopping_while_lists_are_awaited_ends_at_once():
    """A process that cannot reach its API server can still be stopped."""
    diary = Diary()

    async def main():
        manager, _ = a_process(diary, jobs=diary.part("jobs", lists_after=1000))
        await stopped_after(manager, 4)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 4


@pytest.mark.parametrize("broken", ["recorder", "jobs"])
def test_a_part_that_fails_stops_the_whole_process_with_the_reason(broken):
    """Half a control plane is worse than none."""
    diary = Diary()

    async def main():
        manager, _ = a_process(diary, **{broken: diary.part(broken, breaks_after=10)})
        with pytest.raises(PartFailed, match=rf"{broken} failed: RuntimeError: disk full") as reported:
            await manager.run()
        return reported.value

    reported = run_virtual(main())
    assert isinstance(reported.__cause__, RuntimeError)
    assert diary.count(f"{broken} stops") == 1
    assert {f"{name} stops" for name in ("recorder", "elector", "jobs")} <= set(diary)


def test_a_controller_whose_worker_breaks_stops_the_whole_process():
    """A reconciler's errors are tried again; a broken worker is not a reconciler's error."""
    diary = Diary()

    async def main():
        manager, controller = a_process(diary)

        def broken(*_):
            raise RuntimeError("no such metric")

        controller.on_pass = broken
        controller.enqueue(Key("ns", "a"))
        await manager.run()

    with pytest.raises(PartFailed, match="controller toolrun failed: RuntimeError: no such metric"):
        run_virtual(main())


def test_a_service_that_just_ends_is_a_failure_too():
    """Parts live as long as the process."""

    async def brief():
        await asyncio.sleep(1)

    async def main():
        manager = Manager()
        manager.add_service("metrics", brief)
        await manager.run()

    with pytest.raises(PartFailed, match="service metrics ended"):
        run_virtual(main())


def test_it_is_ready_when_everything_is_listed_and_alive_while_it_hears():
    """Problems are sentences; silence is first a reason to take it out, and much later one to restart it."""
    diary = Diary()

    async def main():
        manager, _ = a_process(diary)
        manager.add_ready_check(
            lambda: ["the database is away"] if asyncio.get_running_loop().time() < 3.5 else []
        )
        assert "the process is starting" in manager.ready()
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(2)
        assert manager.ready() == ["informer jobs has not synced", "the database is away"]
        await asyncio.sleep(2)
        assert (manager.ready(), manager.alive()) == ([], [])
        await asyncio.sleep(200)
        assert manager.ready() == ["informer jobs may be stale: no response from the API server for 204 s"]
        assert manager.alive() == []
        await asyncio.sleep(800)
        assert manager.alive() == ["informer jobs has had no response from the API server for 1004 s"]
        manager.stop()
        await running
        assert manager.ready() == ["the process is stopped"]

    run_virtual(main())


def test_cancelling_the_process_stops_every_part():
    """A cancellation from outside leaves nothing behind."""
    diary = Diary()

    async def main():
        manager, _ = a_process(diary)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert len(asyncio.all_tasks()) == 1

    run_virtual(main())
    assert {f"{name} stops" for name in ("recorder", "elector", "jobs")} <= set(diary)


@pytest.mark.parametrize(
    "error",
    [
        OSError(24, "Too many open files"),
        RuntimeError("can't start new thread"),
        MemoryError(),
        ExceptionGroup("unhandled errors in a TaskGroup", [OSError(28, "No space left on device")]),
    ],
)
def test_a_service_that_the_machine_refused_something_is_started_again(error):
    """E5: a sweep without descriptors is logged and repeated; it does not end the process."""
    starts = []

    async def sweep():
        starts.append(asyncio.get_running_loop().time())
        if len(starts) < 4:
            raise error
        await asyncio.Event().wait()

    async def main():
        manager = Manager()
        manager.add_service("sweep", sweep)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(60)
        assert not running.done()
        manager.stop()
        await running

    run_virtual(main())
    assert len(starts) == 4
