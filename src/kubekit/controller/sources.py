"""Maps a change of an object to the keys to reconcile."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from kubekit.cache.informer import Change
from kubekit.cache.object_cache import Cached
from kubekit.controller.reconcile import Key

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
