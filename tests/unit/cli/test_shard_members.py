"""What `jangar controllers list` makes of the Leases of a set."""

from datetime import UTC, datetime

from jangar.cli.table_rows import member_rows, shard_set_document
from jangar.operations.cluster_status import shard_sets
from jangar.processes.controllers import DOMAIN
from kubekit.leases.shard_records import Role, SetNames

NAMES = SetNames(name="controllers", namespace="agents", domain=DOMAIN)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_member(name, *, version="1.2.0", renewed="2026-01-01T11:59:55.000000Z"):
    about = {"version": version, "host": f"node-{name}", "started-at": "2026-01-01T10:00:00Z"}
    spec = {"holderIdentity": name, "leaseDurationSeconds": 30, "renewTime": renewed}
    return NAMES.member_lease(name, about, spec)


def a_shard(number, holder, count=4):
    metadata = {
        "name": NAMES.shard(number),
        "namespace": "agents",
        "labels": NAMES.labels(Role.SHARD),
        "annotations": NAMES.of_count(count),
    }
    return {
        "metadata": metadata,
        "spec": {"holderIdentity": holder, "acquireTime": "2026-01-01T11:30:00.000000Z"},
    }


LEASES = [
    NAMES.set_lease(4),
    a_member("b", version="1.3.0"),
    a_member("a"),
    a_shard(3, "a"),
    a_shard(0, "a"),
    a_shard(1, "b"),
    a_shard(2, ""),
]


def test_members_are_listed_with_their_versions_and_shards():
    """And the shards without a holder."""
    (work,) = shard_sets(LEASES, NOON)
    assert member_rows(work, NOON, wide=False) == [
        ["a", "1.2.0", "2/4", "00,03", "2h", "alive"],
        ["b", "1.3.0", "1/4", "01", "2h", "alive"],
        ["(none)", "", "1/4", "02", "", ""],
    ]


def test_wide_rows_tell_where_and_since_when():
    """The host, the last renewal and the last gain."""
    (work,) = shard_sets(LEASES, NOON)
    assert member_rows(work, NOON, wide=True)[0] == [
        "agents/controllers",
        "a",
        "1.2.0",
        "node-a",
        "2/4",
        "00,03",
        "2h",
        "5s",
        "30m",
        "alive",
    ]


def test_scripts_get_every_shard_with_its_time():
    """The same facts, with nothing shortened."""
    (work,) = shard_sets(LEASES, NOON)
    reported = shard_set_document(work)
    assert (reported["name"], reported["namespace"], reported["shards"], reported["unheld"]) == (
        "controllers",
        "agents",
        4,
        [2],
    )
    assert reported["members"][1]["holds"] == [{"shard": 1, "since": "2026-01-01T11:30:00.000000Z"}]
    assert reported["members"][1]["version"] == "1.3.0"


def test_a_member_that_has_fallen_silent_is_reported_as_that():
    """So is a holder whose own Lease is gone."""
    leases = [NAMES.set_lease(2), a_member("a", renewed="2026-01-01T11:00:00Z"), a_shard(0, "gone", 2)]
    (work,) = shard_sets(leases, NOON)
    states = [(member.name, member.is_alive, len(member.holds)) for member in work.members]
    assert states == [("a", False, 0), ("gone", False, 1)]
