"""The contract of a reconciler: it takes a key and returns Done or RequeueAfter, or raises an error.

It is level-triggered: it gets the key but not the event. One pass after many changes, after a restart or after a missed
event does the right thing. Mappings determine the keys to reconcile after a change of an object.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kubekit.cache.informer import Change
from kubekit.cache.object_cache import Cached


class Key(NamedTuple):
    """Namespace and name of an object; the namespace is empty for a cluster-scoped one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing to do until something changes."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Reconcile again after that many seconds even if nothing changes."""

    after: float


Result: TypeAlias = Done | RequeueAfter
Reconciler: TypeAlias = Callable[[Key], Awaitable[Result]]

DONE = Done()


class TerminalError(Exception):
    """A failure that retries cannot fix: it is logged, and the key waits for a change."""


Mapping: TypeAlias = Callable[[Change], Iterable[Key]]


def own_key(change: Change) -> Iterable[Key]:
    """The object itself."""
    for version in versions(change):
        return (Key(version.namespace, version.name),)
    return ()


def owner_key(kind: str) -> Mapping:
    """The controlling owner of that kind; both owners if the change replaced it."""

    def keys(change: Change) -> Iterable[Key]:
        return {
            Key(version.namespace, owner.name)
            for version in versions(change)
            for owner in version.owners
            if owner.controller and owner.kind == kind
        }

    return keys


def versions(change: Change) -> Iterator[Cached]:
    """The new and the old version, if they exist."""
    if change.new is not None:
        yield change.new
    if change.old is not None:
        yield change.old
