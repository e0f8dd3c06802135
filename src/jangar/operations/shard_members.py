"""Who shares the work of the controllers, as the Leases tell it: members, their versions, and their shards. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from jangar.domain.times import parse_rfc3339
from kubekit.client.resource import Obj
from kubekit.leases.shard_records import LeaseRecord, Role, SetNames, agreed_count, record_of

DOMAIN = "jangar.proompteng.ai"
SELECTOR = f"{DOMAIN}/shard-set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One shard that a member holds."""

    number: int
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardMember:
    """One member; its name is empty for shards that nobody holds."""

    name: str
    lease: str
    version: str
    host: str
    started_at: str
    renewed_at: str
    is_alive: bool
    holds: Sequence[Holding]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedWork:
    """One set of shards."""

    name: str
    namespace: str
    count: int
    members: Sequence[ShardMember]
    unheld: Sequence[int]


def shared_work(leases: Iterable[Obj], now: datetime) -> list[SharedWork]:
    """The sets that these Leases make up, by name."""
    sets: dict[tuple[str, str], list[Obj]] = {}
    for lease in leases:
        metadata = lease["metadata"]
        label = (metadata.get("labels") or {}).get(SELECTOR, "")
        sets.setdefault((metadata.get("namespace", ""), label), []).append(lease)
    return [_shared(namespace, label, item, now) for (namespace, label), item in sorted(sets.items())]


def _shared(namespace: str, label: str, leases: Sequence[Obj], now: datetime) -> SharedWork:
    names = SetNames(name=label, namespace=namespace, domain=DOMAIN)
    records = [record_of(names, lease) for lease in leases]
    members = {item.holder: item for item in records if item.role is Role.MEMBER}
    count = agreed_count(records) or 0
    holds: dict[str, list[Holding]] = {name: [] for name in members}
    for item in sorted(records, key=lambda record: record.number or 0):
        if item.number is not None and item.number < count and item.holder:
            holds.setdefault(item.holder, []).append(Holding(number=item.number, since=item.since))
    held = {one.number for hold in holds.values() for one in hold}
    return SharedWork(
        name=next((item.name for item in records if item.role is Role.SET), label),
        namespace=namespace,
        count=count,
        members=[_member(name, members.get(name), tuple(holds[name]), now) for name in sorted(holds)],
        unheld=[number for number in range(count) if number not in held],
    )


def _member(name: str, member: LeaseRecord | None, holds: Sequence[Holding], now: datetime) -> ShardMember:
    about: Mapping[str, str] = member.about if member else {}
    renewed = moment(member.renewed) if member else None
    return ShardMember(
        name=name,
        lease=member.name if member else "",
        version=about.get("version", ""),
        host=about.get("host", ""),
        started_at=about.get("started-at", ""),
        renewed_at=member.renewed if member else "",
        is_alive=bool(member and renewed and now < renewed + timedelta(seconds=member.duration)),
        holds=holds,
    )


def moment(text: str) -> datetime | None:
    try:
        return parse_rfc3339(text).astimezone(UTC) if text else None
    except ValueError:
        return None
