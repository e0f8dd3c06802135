"""Which member should hold which shard: pure, and the same for everybody who knows the same members.

Each pair of a member and a shard has a score (rendezvous hashing), and the best pairs are taken first, as long as the
member has room. The room is the even share, and one more for as many as the shards that are left over, so that each
member holds the floor or the ceiling of shards / members. A score depends on nobody else: when a member comes or goes,
most shards stay where they are.
"""

import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b


def shard_of(namespace: str, name: str, shards: int) -> int:
    """The shard of everything that is called so; the same in every process and every version."""
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
    found: dict[int, str] = {}
    for _, shard, member in pairs:
        if shard in found or load[member] > floor or (load[member] == floor and not left_over):
            continue
        if load[member] == floor:
            left_over -= 1
        load[member] += 1
        found[shard] = member
    return found


def _score(shard: int, member: str) -> bytes:
    return blake2b(f"{shard}/{member}".encode(), digest_size=8).digest()
