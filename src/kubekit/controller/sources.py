"""From a change of an object to the keys that must be looked at. Knows caches, not controllers."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from kubekit.cache.informer import Change
from kubekit.cache.object_cache import Cached
from kubekit.controller.reconcile import Key

Mapping: TypeAlias = Callable[[Change], Iterable[Key]]


def own_key(change: Change) -> Iterable[Key]:
    """The object itself."""
    for each in versions(change):
        return (Key(each.namespace, each.name),)
    return ()


def owner_key(kind: str) -> Mapping:
    """The owner of that kind which controls the object; both, if a change moved it from one to another."""

    def keys(change: Change) -> Iterable[Key]:
        return {
            Key(each.namespace, owner.name)
            for each in versions(change)
            for owner in each.owners
            if owner.controller and owner.kind == kind
        }

    return keys


def versions(change: Change) -> Iterator[Cached]:
    """The new version and the old one, as far as there are any."""
    if change.new is not None:
        yield change.new
    if change.old is not None:
        yield change.old
