"""How much of the past the compaction policy keeps."""

import asyncio
from datetime import timedelta

import pytest

from picokube.apiserver.storage.compaction import CompactionPolicy, Compactor

POLICY = CompactionPolicy(at_least=100, age=timedelta(seconds=60), at_most=1000)


class Counted:
    """The two numbers that a compactor reads, and its decision."""

    def __init__(self):
        self.revision = self.floor = 1

    async def compact(self, floor):
        self.floor = max(self.floor, floor)


@pytest.mark.parametrize(
    ("looks", "floor"),
    [
        pytest.param([(0, 500)], 1, id="nothing-is-old-at-the-start"),
        pytest.param([(0, 500), (59, 900)], 1, id="younger-than-the-age-is-kept"),
        pytest.param([(0, 500), (60, 900)], 500, id="older-than-the-age-goes"),
        pytest.param([(0, 500), (60, 550)], 450, id="the-newest-are-kept-however-old"),
        pytest.param([(0, 500), (30, 600), (90, 900)], 600, id="the-newest-mark-that-is-old-counts"),
        pytest.param([(0, 500), (60, 900), (61, 950)], 500, id="marks-are-kept-until-the-next-is-old"),
        pytest.param([(0, 5000)], 4000, id="never-more-than-the-most"),
    ],
)
def test_a_revision_is_kept_while_it_is_new_or_young_and_there_is_room(looks, floor):
    async def scenario():
        store = Counted()
        compactor = Compactor(store, POLICY)
        for now, revision in looks:
            store.revision = revision
            await compactor.compact(now=now)
        return store.floor

    assert asyncio.run(scenario()) == floor
