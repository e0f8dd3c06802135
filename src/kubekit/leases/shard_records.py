"""The records of a shard set in Leases, and the assignment of shards to members. Pure.

One Lease stores the number of shards, one for each shard names its holder, and one for each member shows that it is
alive.

The assignment uses rendezvous hashing: each pair of a member and a shard has a score, and pairs are selected by
descending score while the member has capacity. Each member gets the floor or the ceiling of shards / members. Scores
don't depend on other members: when a member joins or leaves, most shards keep their member.
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from kubekit.client.builtin import LEASES
from kubekit.client.resource import Obj

MAX_SHARDS: Final = 1024
_MAX_LABEL: Final = 63
_MAX_IDENTITY: Final = 100


def shard_of(namespace: str, name: str, shards: int) -> int:
    """The shard of an object by its name, which is the same in every process and every version."""
    return zlib.crc32(f"{namespace}/{name}".encode()) % shards


def assignment(shards: int, members: Iterable[str]) -> Mapping[int, str]:
    """The member of each shard; empty without members."""
    return _assigned(shards, tuple(sorted(set(members))))


@lru_cache(maxsize=64)
def _assigned(shards: int, members: tuple[str, ...]) -> Mapping[int, str]:
    if not members:
        return {}
    floor, left_over = divmod(shards, len(members))
    pairs = sorted(
        ((_score(shard, member), shard, member) for shard in range(shards) for member in members),
        reverse=True,
    )
    load = dict.fromkeys(members, 0)
    assigned: dict[int, str] = {}
    for _, shard, member in pairs:
        if shard in assigned or load[member] > floor or (load[member] == floor and not left_over):
            continue
        if load[member] == floor:
            left_over -= 1
        load[member] += 1
        assigned[shard] = member
    return assigned


def _score(shard: int, member: str) -> bytes:
    return blake2b(f"{shard}/{member}".encode(), digest_size=8).digest()


class Role(StrEnum):
    """The purpose of a Lease of the set."""

    SET = "set"
    SHARD = "shard"
    MEMBER = "member"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetNames:
    """Names, labels and annotations of the Leases of one set; `domain` is the prefix of the latter two."""

    name: str
    namespace: str
    domain: str

    def shard(self, number: int) -> str:
        return f"{self.name}-shard-{number:02d}"

    def member(self, identity: str) -> str:
        return f"{self.name}-member-{identity}"

    def key(self, name: str) -> str:
        """The key of a label or an annotation."""
        return f"{self.domain}/{name}"

    def labels(self, role: Role) -> dict[str, str]:
        return {self.key("shard-set"): self._label, self.key("shard-role"): role.value}

    @property
    def selector(self) -> str:
        """The label selector for all Leases of the set."""
        return f"{self.key('shard-set')}={self._label}"

    @property
    def _label(self) -> str:
        if len(self.name) <= _MAX_LABEL:
            return self.name
        return blake2b(self.name.encode(), digest_size=16).hexdigest()

    def of_count(self, count: int) -> dict[str, str]:
        """The annotation with the number of shards."""
        return {self.key("shards"): str(count)}

    def set_lease(self, count: int) -> Obj:
        """The Lease that determines the number of shards."""
        return self._lease(self.name, Role.SET, self.of_count(count), {})

    def member_lease(self, identity: str, about: Mapping[str, str], spec: Obj) -> Obj:
        reported = {self.key(word): text for word, text in about.items()}
        return self._lease(self.member(identity), Role.MEMBER, reported, spec)

    def _lease(self, name: str, role: Role, annotations: Mapping[str, str], spec: Obj) -> Obj:
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": self.labels(role),
                "annotations": dict(annotations),
            },
            "spec": spec,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """One Lease of the set as observed."""

    name: str
    role: Role | None
    holder: str
    duration: float
    version: str
    uid: str
    count: int | None
    """The number of shards in this Lease. None if it is missing or invalid."""
    since: str
    renewed: str
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def number(self) -> int | None:
        """The number of the shard. None if it is not the Lease of a shard."""
        match = re.search(r"-shard-(\d+)$", self.name)
        return int(match[1]) if self.role is Role.SHARD and match else None


def record_of(names: SetNames, lease: Obj) -> LeaseRecord:
    """Parse a Lease. Tolerates manual changes."""
    metadata, spec = lease["metadata"], lease.get("spec") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    role = labels.get(names.key("shard-role"), "")
    before = names.key("")
    return LeaseRecord(
        name=metadata["name"],
        role=Role(role) if role in tuple(Role) else None,
        holder=spec.get("holderIdentity") or "",
        duration=float(spec.get("leaseDurationSeconds") or 0),
        version=f"{metadata.get('uid', '')}/{metadata.get('resourceVersion', '')}",
        uid=metadata.get("uid", ""),
        count=_count(annotations.get(names.key("shards"))),
        since=spec.get("acquireTime") or "",
        renewed=spec.get("renewTime") or "",
        about={key.removeprefix(before): text for key, text in annotations.items() if key.startswith(before)},
    )


def agreed_count(records: Iterable[LeaseRecord]) -> int | None:
    """The number of shards, from the Lease of the set, or from most Leases of shards. None if unknown."""
    counts: dict[int, int] = {}
    for record in records:
        if record.role is Role.SET:
            return record.count
        if record.role is Role.SHARD and record.count is not None:
            counts[record.count] = counts.get(record.count, 0) + 1
    return max(counts, key=lambda count: (counts[count], count), default=None)


def identity_of(host: str, unique: str) -> str:
    """An identity of a process that is valid in the name of a Lease."""
    plain = re.sub(r"[^a-z0-9]+", "-", host.lower()).strip("-")[:_MAX_IDENTITY].strip("-")
    return f"{plain or 'host'}-{unique}"


def _count(text: str | None) -> int | None:
    if text is None or not re.fullmatch(r"[0-9]{1,4}", text):
        return None
    return int(text) if 1 <= int(text) <= MAX_SHARDS else None
