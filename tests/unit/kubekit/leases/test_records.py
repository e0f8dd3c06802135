"""What the Leases of a set say, and what is read from them whatever a hand did."""

import pytest

from kubekit.leases.shard_records import Role, SetNames, agreed_count, identity_of, record_of

NAMES = SetNames(name="controllers", namespace="agents", domain="example.org")


def a_shard(number, count):
    labels, annotations = NAMES.labels(Role.SHARD), NAMES.of_count(count)
    metadata = {"name": NAMES.shard(number), "labels": labels, "annotations": annotations}
    return record_of(NAMES, {"metadata": metadata, "spec": {"holderIdentity": "one"}})


def test_the_sets_own_lease_decides_the_count():
    """Others are asked only when it is not there."""
    shards = [a_shard(0, 6), a_shard(1, 6), a_shard(2, 9)]
    assert agreed_count([*shards, record_of(NAMES, NAMES.set_lease(12))]) == 12
    assert agreed_count(shards) == 6
    assert agreed_count([]) is None


@pytest.mark.parametrize("text", ["", "0", "-1", "many", "1025", "12.0", "99999"])
def test_a_count_that_cannot_be_is_none(text):
    """Whatever a hand wrote."""
    lease = NAMES.set_lease(12)
    lease["metadata"]["annotations"] = {"example.org/shards": text}
    assert record_of(NAMES, lease).count is None


def test_a_bare_lease_can_be_read():
    """Without labels, annotations or spec."""
    record = record_of(NAMES, {"metadata": {"name": "x"}})
    assert (record.role, record.holder, record.number, record.count) == (None, "", None, None)


def test_shards_are_numbered_by_their_names():
    """Two digits at least, so that lists are in order."""
    assert [NAMES.shard(7), NAMES.shard(123)] == ["controllers-shard-07", "controllers-shard-123"]
    assert [a_shard(7, 12).number, a_shard(123, 200).number] == [7, 123]


@pytest.mark.parametrize(
    ("host", "identity"),
    [("Annas-MacBook.local", "annas-macbook-local-1a"), ("", "host-1a"), ("pod-0", "pod-0-1a")],
)
def test_an_identity_can_be_part_of_a_name(host, identity):
    """Whatever the machine is called."""
    assert identity_of(host, "1a") == identity


def test_a_long_name_makes_a_valid_label():
    """A label has 63 characters at most."""
    names = SetNames(name="x" * 200, namespace="agents", domain="example.org")
    assert len(names.labels(Role.SET)["example.org/shard-set"]) == 32
