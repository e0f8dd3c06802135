"""Random sequences of reads, changes, watches, compactions and restarts, compared with a model that is a list of
events.
"""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from contract.storage.implementations import IMPLEMENTATIONS, pod, put, read_until, remove, value_of
from picokube.apiserver.storage.store import Compacted, Key, NotReached

KEYS = st.builds(
    Key, st.sampled_from(("pods", "jobs.batch")), st.sampled_from(("", "a", "a-b")), st.sampled_from("xyz")
)
SCOPES = st.tuples(st.sampled_from(("pods", "jobs.batch")), st.sampled_from((None, "", "a", "a-b")))
OWNERS = st.lists(st.sampled_from(("one", "two")), unique=True).map(tuple)
LABELS = st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from(("", "web")))
PUTS = st.tuples(KEYS, st.integers(0, 99), LABELS, OWNERS)
CHANGES = st.one_of(PUTS, st.tuples(KEYS, st.none(), st.just({}), st.just(())))


def in_scope(key, scope):
    return key.resource == scope[0] and scope[1] in (None, key.namespace)


class Machine(RuleBasedStateMachine):
    implementation = IMPLEMENTATIONS[0]

    @initialize()
    def start(self):
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.history = []  # of (revision, key, (value, labels, owners) or None)
        self.watches = []  # of [watch, scope, since]
        self.floor = 1
        self.runner.run(self._open())

    async def _open(self):
        self.store = self.implementation.open(Path(self.directory.name), watch_queue_events=10_000)

    def teardown(self):
        if hasattr(self, "store"):
            self.runner.run(self.store.close())
            self.runner.close()
            self.directory.cleanup()

    @property
    def revision(self):
        return self.history[-1][0] if self.history else 1

    def objects(self, revision):
        expected = {}
        for at, key, content in self.history:
            if at <= revision:
                expected.pop(key, None)
                if content is not None:
                    expected[key] = (at, *content)
        return expected

    @rule(changes=st.lists(CHANGES, min_size=1, max_size=5))
    def change(self, changes):
        """All at once; changes of one key in their order."""

        async def together():
            work = (
                self.store.change(key, put(v, labels=ls, owners=os) if v is not None else remove)
                for key, v, ls, os in changes
            )
            return await asyncio.gather(*work)

        committed = []
        for (key, value, labels, owners), stored in zip(changes, self.runner.run(together()), strict=True):
            if stored is None:
                assert value is None
            else:
                committed.append((stored.revision, key, None if value is None else (value, labels, owners)))
        committed.sort(key=lambda row: row[0])
        assert [row[0] for row in committed] == [self.revision + n for n in range(1, len(committed) + 1)]
        self.history += committed

    @rule(key=KEYS)
    def leave(self, key):
        assert self.runner.run(self.store.change(key, lambda _: None)) == self.store.get(key)

    @rule(key=KEYS)
    def refuse(self, key):
        with pytest.raises(ZeroDivisionError):
            self.runner.run(self.store.change(key, lambda _: 1 / 0))

    @rule(scope=SCOPES, back=st.integers(-2, 30))
    def list_at(self, scope, back):
        revision = self.revision - back
        if revision < self.floor:
            with pytest.raises(Compacted):
                self.store.list_at(*scope, revision)
        elif revision > self.revision:
            with pytest.raises(NotReached):
                self.store.list_at(*scope, revision)
        else:
            self.check_list(self.store.list_at(*scope, revision), scope, revision)

    @rule(scope=SCOPES)
    def list(self, scope):
        self.check_list(self.store.list(*scope), scope, self.revision)

    def check_list(self, snapshot, scope, revision):
        expected = {key: content for key, content in self.objects(revision).items() if in_scope(key, scope)}
        assert snapshot.revision == revision
        assert [stored.key for stored in snapshot.objects] == sorted(expected)
        for stored in snapshot.objects:
            assert (stored.revision, value_of(stored), stored.labels, stored.owners) == expected[stored.key]

    @precondition(lambda self: len(self.watches) < 4)
    @rule(scope=SCOPES, back=st.integers(0, 30))
    def watch(self, scope, back):
        since = self.revision - back

        async def started():
            return self.store.watch(*scope, since)

        if since < self.floor:
            with pytest.raises(Compacted):
                self.runner.run(started())
        else:
            self.watches.append([self.runner.run(started()), scope, since])

    @precondition(lambda self: self.watches)
    @rule(which=st.integers(0, 3))
    def read(self, which):
        entry = self.watches[which % len(self.watches)]
        watch, scope, since = entry
        events = self.runner.run(read_until(watch, self.revision))
        expected = [row for row in self.history if row[0] > since and in_scope(row[1], scope)]
        assert [event.object.revision for event in events] == [row[0] for row in expected]
        for event, (revision, key, content) in zip(events, expected, strict=True):
            before = self.objects(revision - 1).get(key)
            kind = "DELETED" if content is None else "MODIFIED" if before else "ADDED"
            assert (event.type.value, event.object.key) == (kind, key)
            assert value_of(event.object) == (content and content[0])
            assert (event.previous and (event.previous.revision, value_of(event.previous))) == (
                before and before[:2]
            )
        entry[2] = watch.revision

    @rule(back=st.integers(0, 12))
    def compact(self, back):
        self.runner.run(self.store.compact(self.revision - back))
        self.floor = max(self.floor, self.revision - back)

    @precondition(lambda self: self.implementation.durable)
    @rule()
    def reopen(self):
        """Reopen the store; watchers resume if their revision is still in the window."""
        self.runner.run(self.store.close())
        self.runner.run(self._open())
        # Revisions that a watch was still reading were kept and are available again.
        assert self.store.floor <= self.floor
        self.floor = self.store.floor
        kept = [entry for entry in self.watches if entry[2] >= self.floor]

        async def resumed():
            return [[self.store.watch(*scope, since), scope, since] for _, scope, since in kept]

        self.watches = self.runner.run(resumed())

    @rule(uid=st.sampled_from(("one", "two")))
    def owned(self, uid):
        expected = sorted(key for key, content in self.objects(self.revision).items() if uid in content[3])
        assert [stored.key for stored in self.store.owned_by(uid)] == expected

    @invariant()
    def agree(self):
        if hasattr(self, "store"):
            assert (self.store.revision, self.store.floor) == (self.revision, self.floor)
            assert (self.store.get(pod("x", "a")) is not None) == (
                pod("x", "a") in self.objects(self.revision)
            )


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS, ids=lambda implementation: implementation.name)
def test_every_sequence_of_operations_agrees_with_the_model(implementation):
    machine = type("Of", (Machine,), {"implementation": implementation})
    examples = 20 if implementation.durable else 60
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=30, deadline=None)
    )
