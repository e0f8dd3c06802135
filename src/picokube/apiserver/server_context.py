"""What every handler is given: the store, the table of kinds, a clock and a source of uids. Wires nothing itself."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from picokube.apiserver.body import Protobuf
from picokube.apiserver.last_written import LastWritten
from picokube.apiserver.registry import Registry
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.storage.store import Key, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A committed write. `object` is the state that was stored, or the last one before it went."""

    resource: ResourceType
    object: JsonObject
    gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The parts of a running server that requests use."""

    store: Store
    registry: Registry
    clock: Callable[[], datetime]
    new_uid: Callable[[], str]
    new_suffix: Callable[[], str]
    """Five characters for generateName."""
    protobuf: Protobuf | None = None
    last_written: LastWritten = field(default_factory=LastWritten)
    listeners: list[Callable[[Heard], None]] = field(default_factory=list)
    """Parts of the server itself that follow every write, after its commit."""
    settling: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    """By resource: what the server itself does after a write of such an object, before that is answered."""

    def tell(self, resource: ResourceType, obj: JsonObject, *, gone: bool = False) -> None:
        """Let the listeners know of a committed write."""
        heard = Heard(resource=resource, object=obj, gone=gone)
        for listener in self.listeners:
            listener(heard)

    def now(self) -> str:
        """The time as metadata shows it: whole seconds."""
        return self.after(0)

    def after(self, seconds: int) -> str:
        """The time so many seconds from now."""
        moment = self.clock().astimezone(UTC) + timedelta(seconds=seconds)
        return _to_the_second(moment.replace(microsecond=0))


@lru_cache(maxsize=64)
def _to_the_second(moment: datetime) -> str:
    """Asked for several times a write, and the same for all writes of a second."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def key_of(resource: ResourceType, namespace: str | None, name: str) -> Key:
    """Where an object of this kind is stored."""
    return Key(resource.stored_as or resource.qualified, namespace or "", name)
