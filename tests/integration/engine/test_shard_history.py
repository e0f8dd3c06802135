"""The checker of the shard tests reports exactly the writes of processes that do not hold the shard."""

from types import SimpleNamespace

import pytest

from integration.engine.shard_history import history, holders_now, writes_without_shard

WRITE = "PATCH /apis/x/v1/namespaces/default/orchestrationruns/a/status"
SHARDS = 1


def process(name, *, leases=(), writes=()):
    holders = [(when, "jangar-shard-00", holder, version) for when, holder, version in leases]
    return SimpleNamespace(
        name=name, proxy=SimpleNamespace(holders=holders, accepted=[(when, WRITE) for when in writes])
    )


@pytest.mark.rule("CHART-4")
def test_a_write_after_another_process_took_the_shard_is_reported():
    """The write came after the server had accepted another holder."""
    members = [
        process("one", leases=[(1.0, "one", 1)], writes=[1.5, 2.5]),
        process("two", leases=[(2.0, "two", 2)]),
    ]
    assert [text.split(" sent ")[0] for text in writes_without_shard(members, shards=SHARDS)] == ["one"]


def test_a_write_after_releasing_the_shard_is_reported():
    """A released shard has no holder."""
    members = [process("one", leases=[(1.0, "one", 1), (2.0, "", 2)], writes=[2.5])]
    assert len(writes_without_shard(members, shards=SHARDS)) == 1


def test_a_response_noted_late_is_ordered_by_its_version():
    """Process one released the shard, two took it, and the response to one was read last: two is the holder."""
    members = [
        process("one", leases=[(1.0, "one", 1), (3.0, "", 2)]),
        process("two", leases=[(2.0, "two", 3)], writes=[3.5]),
    ]
    assert writes_without_shard(members, shards=SHARDS) == []
    assert holders_now(history(members)) == {0: "two"}


def test_a_late_note_hides_no_write_of_the_former_holder():
    """A write of one after two had taken the shard is reported, however late the release was noted."""
    members = [
        process("one", leases=[(1.0, "one", 1), (3.0, "", 2)], writes=[2.5]),
        process("two", leases=[(2.0, "two", 3)]),
    ]
    assert len(writes_without_shard(members, shards=SHARDS)) == 1
