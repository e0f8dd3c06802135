"""What requests and controllers share: the store, the kinds, a clock, and a cache of decoded objects."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from picokube.apiserver.kinds.resources import Registry, ResourceType
from picokube.apiserver.protocol.body import Protobuf
from picokube.apiserver.protocol.messages import JsonObject
from picokube.apiserver.storage.store import Key, Store, Stored

MAX_BYTES = 2 * 1024 * 1024
"""Of all kept objects as they are stored; decoded they take several times that."""


class DecodedCache:
    """Each object at one revision; the least recently used are evicted."""

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, tuple[Stored, JsonObject]] = OrderedDict()

    def of(self, stored: Stored) -> JsonObject | None:
        """What these very bytes decode to, if it is known."""
        found = self._kept.get(stored.key)
        if found is None or found[0] is not stored:
            return None
        self._kept.move_to_end(stored.key)
        return found[1]

    def keep(self, stored: Stored, obj: JsonObject) -> None:
        self.forget(stored.key)
        self._kept[stored.key] = stored, obj
        self._bytes += len(stored.data)
        while self._bytes > self._most_bytes:
            self.forget(next(iter(self._kept)))

    def forget(self, key: Key) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._bytes -= len(found[0].data)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedWrite:
    """A committed write. `object` is the state that was stored, or the last one before it went."""

    resource: ResourceType
    object: JsonObject
    gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerContext:
    """The parts of a running server that requests use."""

    store: Store
    registry: Registry
    clock: Callable[[], datetime]
    new_uid: Callable[[], str]
    new_suffix: Callable[[], str]
    """Five characters for generateName."""
    protobuf: Protobuf | None = None
    last_written: DecodedCache = field(default_factory=DecodedCache)
    listeners: list[Callable[[CommittedWrite], None]] = field(default_factory=list)
    """Parts of the server itself that follow every write, after its commit."""
    after_write: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    """By resource: what the server itself does after a write of such an object, before that is answered."""

    def notify(self, resource: ResourceType, obj: JsonObject, *, gone: bool = False) -> None:
        """Notify the listeners of a committed write."""
        write = CommittedWrite(resource=resource, object=obj, gone=gone)
        for listener in self.listeners:
            listener(write)

    def now(self) -> str:
        """The time as metadata shows it: whole seconds."""
        return self.after(0)

    def after(self, seconds: int) -> str:
        """The time so many seconds from now."""
        moment = self.clock().astimezone(UTC) + timedelta(seconds=seconds)
        return _to_the_second(moment.replace(microsecond=0))


@lru_cache(maxsize=64)
def _to_the_second(moment: datetime) -> str:
    """The timestamp of a second, cached: every write needs it several times."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def key_of(resource: ResourceType, namespace: str | None, name: str) -> Key:
    """Where an object of this kind is stored."""
    return Key(resource.stored_as or resource.qualified, namespace or "", name)
