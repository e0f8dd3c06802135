"""Storing what ended: when the database refuses, is away, or has it already; and which controllers are notified."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.tools import TOOL_RUN
from jangar.controllers.history.keeper import HistoryKeeper
from jangar.controllers.log_tails import LogTails
from jangar.controllers.resources import resource_of
from jangar.store.errors import Refused, Unavailable
from jangar.store.rows import Known
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.controller.reconcile import Key
from kubekit.events.event_recorder import EventRecorder
from support.answering_transport import AnsweringTransport
from support.builders import NOON
from support.virtual_time import run_virtual

TIME = "2026-01-02T03:04:05Z"
ENDED = {"phase": "Succeeded", "updatedAt": TIME, "finishedAt": TIME}


class ScriptedHistory:
    """A history that fails a given number of times before it stores, and never stores the uids it must refuse."""

    def __init__(self, *, failures=0, refused=(), known=None):
        self.failures, self.refused, self.already = failures, refused, known or {}
        self.stored, self.requested_uids = {}, []
        self.old, self.reported = 0, []
        self.parts = {}

    async def store(self, ended):
        if self.failures:
            self.failures -= 1
            raise Unavailable("away")
        if any(item.run.uid in self.refused for item in ended):
            raise Refused("not that")
        self.stored |= {item.run.uid: item for item in ended}

    async def known(self, uids):
        self.requested_uids += uids
        return {uid: self.already[uid] for uid in uids if uid in self.already}

    async def add_log_parts(self, uid, parts):
        if self.failures:
            self.failures -= 1
            raise Unavailable("away")
        if uid in self.refused:
            raise Refused("not that")
        known = {item.job for item in self.parts.get(uid, ())}
        self.parts.setdefault(uid, []).extend(part for part in parts if part.job not in known)

    async def log_parts(self, uid):
        return self.parts.get(uid, [])

    async def prune(self, before):
        gone = min(self.old, 2)
        self.old -= gone
        self.reported.append((asyncio.get_running_loop().time(), gone, before, len(self.stored)))
        return {"runs": gone}

    async def close(self):
        pass


def an_object(kind, name, *, version, phase="Succeeded", owner=None):
    owners = [{"uid": owner, "kind": "OrchestrationRun", "name": owner, "controller": True}] if owner else []
    return {
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "ci",
            "uid": name,
            "resourceVersion": str(version),
            "creationTimestamp": TIME,
            "ownerReferences": owners,
        },
        "spec": {},
        "status": ENDED | {"phase": phase},
    }


class World:
    """A keeper of runs and ToolRuns, their caches, and the keys that were enqueued."""

    def __init__(self, history, *, may_act=lambda _: True, retention=None, logs=None):
        client = Client(AnsweringTransport(), manager="test")
        self.recorder = EventRecorder(client, component="test", now=lambda: NOON)

        async def opened():
            return history

        self.keeper = HistoryKeeper(
            open_history=opened,
            client=client,
            recorder=self.recorder,
            random=lambda: 1.0,
            retention=retention,
            logs=LogTails(client, logs, lambda: NOON) if logs is not None else None,
        )
        self.woken = []
        self.informers = {
            kind.name: Informer(
                client,
                resource_of(kind),
                namespaces=Namespaces.every(),
                indexes={"uid": lambda cached: (cached.uid,)},
            )
            for kind in (ORCHESTRATION_RUN, TOOL_RUN)
        }
        for informer in self.informers.values():
            self.keeper.follow(informer, wake=self.woken.append, may_act=may_act)

    def see(self, kind, name, **facts):
        return self.informers[kind].cache.record_write(an_object(kind, name, **facts))

    def keep_log(self, uid, job, text):
        """As the log keeper of one Job among several does."""
        files = self.keeper.logs.files
        files.keep_one("ci", uid, job=job, title=job, content=text.encode())
        self.keeper.tail_kept("ci", uid, is_part=True)

    async def goes_on_until(self, holds):
        """In real time: files are read in threads."""
        running = asyncio.ensure_future(self.keeper.run())
        async with asyncio.timeout(30):
            while not holds():  # noqa: ASYNC110 - the condition sends no event
                await asyncio.sleep(0.02)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    async def goes_on(self, seconds):
        running = asyncio.ensure_future(self.keeper.run())
        await asyncio.sleep(seconds)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@pytest.mark.rule("GC-6")
def test_waiting_controllers_are_notified_once_a_run_is_stored():
    """A run waits for its children, too."""

    async def scenario():
        history = ScriptedHistory()
        world = World(history)
        run = world.see("OrchestrationRun", "r", version=1)
        world.see("ToolRun", "c", version=2, owner="r")
        assert world.keeper.is_pending(run)
        await world.goes_on(2)
        assert not world.keeper.is_pending(run)
        assert set(world.woken) == {Key("ci", "r")}
        assert {uid: item.run.root_uid for uid, item in history.stored.items()} == {"r": "r", "c": "r"}

    run_virtual(scenario())


@pytest.mark.rule("GC-6")
def test_an_outage_is_waited_out_and_nothing_is_forgotten():
    """Tried again with growing waits; what ends meanwhile is stored with the rest."""

    async def scenario():
        history = ScriptedHistory(failures=5)
        world = World(history)
        world.see("ToolRun", "a", version=1)
        going = asyncio.ensure_future(world.goes_on(60))
        await asyncio.sleep(2)
        world.see("ToolRun", "b", version=2)
        assert world.keeper.pending_count == 2
        assert world.keeper.oldest_age() > 1
        await going
        assert set(history.stored) == {"a", "b"}
        assert (world.keeper.pending_count, world.keeper.counts.failures) == (0, 5)

    run_virtual(scenario())


def test_a_row_that_is_refused_holds_no_other_up():
    """It stays pending, so that its object is not deleted by retention."""

    async def scenario():
        history = ScriptedHistory(refused={"bad"})
        world = World(history)
        bad = world.see("ToolRun", "bad", version=1)
        world.see("ToolRun", "good", version=2)
        await world.goes_on(30)
        assert set(history.stored) == {"good"}
        assert world.keeper.is_pending(bad)
        assert world.keeper.counts.failures == 1

    run_virtual(scenario())


def test_what_an_earlier_process_stored_is_not_stored_again():
    """After a restart the database is asked about everything that has ended."""

    async def scenario():
        history = ScriptedHistory(
            known={"old": Known(updated_at=NOON.replace(year=2027), has_log_tail=False)}
        )
        world = World(history)
        old = world.see("ToolRun", "old", version=1)
        world.see("ToolRun", "new", version=2)
        await world.goes_on(2)
        assert sorted(history.requested_uids) == ["new", "old"]
        assert set(history.stored) == {"new"}
        assert not world.keeper.is_pending(old)

    run_virtual(scenario())


def test_a_process_that_does_not_act_stores_nothing_until_it_does():
    """Then it looks at everything."""

    async def scenario():
        acts = False
        history = ScriptedHistory()
        world = World(history, may_act=lambda _: acts)
        world.see("ToolRun", "a", version=1)
        await world.goes_on(2)
        assert history.stored == {}
        acts = True
        world.keeper.resync()
        await world.goes_on(2)
        assert set(history.stored) == {"a"}

    run_virtual(scenario())


@pytest.mark.rule("GC-6")
def test_old_rows_are_deleted_in_parts_at_the_start_and_every_hour():
    """Also where nothing ends; what ends meanwhile is stored before the next part; without a bound nothing goes."""

    async def scenario():
        history = ScriptedHistory()
        history.old = 5
        world = World(history, retention=timedelta(days=1))
        world.see("ToolRun", "a", version=1)
        await world.goes_on(3700)
        assert [gone for _, gone, _, _ in history.reported] == [2, 2, 1, 0, 0]
        assert all(stored == 1 for _, _, _, stored in history.reported)
        times = [at for at, _, _, _ in history.reported]
        assert times[3] - times[0] < 5
        assert 3600 <= times[4] - times[3] < 3620
        assert history.reported[0][2].tails is None
        assert world.keeper.counts.deleted == {"runs": 5}
        kept = ScriptedHistory()
        await World(kept).goes_on(3700)
        assert kept.reported == []

    run_virtual(scenario())


@pytest.mark.rule("GC-6")
def test_logs_of_jobs_that_another_process_kept_are_stored_with_the_rest(tmp_path):
    """Another process, with its own directory, continues the work of several Jobs; an outage loses nothing."""

    async def scenario():
        history = ScriptedHistory(failures=1)
        one = World(history, logs=tmp_path / "one")
        one.keep_log("c", "first", "hello\n")
        await one.goes_on_until(lambda: history.parts)
        two = World(history, logs=tmp_path / "two")
        two.keep_log("c", "second", "again\n")
        two.keep_log("c", "last", "bye\n")
        await two.goes_on_until(lambda: len(history.parts["c"]) == 3)
        two.informers["ToolRun"].cache.record_write(
            an_object("ToolRun", "c", version=3) | {"status": ENDED | {"job": {"name": "last"}}}
        )
        await two.goes_on_until(lambda: history.stored)
        reported = "==> first <==\nhello\n==> second <==\nagain\n==> last <==\nbye\n"
        assert history.stored["c"].log_tail == reported

    asyncio.run(scenario())


@pytest.mark.rule("GC-6")
def test_a_log_that_the_database_refuses_holds_no_one_up(tmp_path):
    """It is reported, and the rows of others are stored."""

    async def scenario():
        history = ScriptedHistory(refused=("c",))
        world = World(history, logs=tmp_path)
        world.keep_log("c", "first", "hello\n")
        world.see("ToolRun", "other", version=1)
        await world.goes_on_until(lambda: history.stored)
        assert set(history.stored) == {"other"}
        assert world.keeper.counts.failures == 1

    asyncio.run(scenario())
