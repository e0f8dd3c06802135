"""What a path means: group, version, resource, namespace, name, subresource. Knows Kubernetes' path grammar only."""

from dataclasses import dataclass

from picokube.apiserver.memoize import remembered

NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The object or collection that a path names."""

    group: str
    version: str
    resource: str
    namespace: str | None = None
    name: str | None = None
    subresource: str = ""
    rest: tuple[str, ...] = ()
    """What follows the subresource, as in a proxy's path."""


@remembered(4096)
def target_of(path: str) -> Target | None:
    """The resource that a path names; None for every other path."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api", version, *rest] if rest:
            return _resource("", version, rest)
        case ["apis", group, version, *rest] if rest:
            return _resource(group, version, rest)
        case _:
            return None


def _resource(group: str, version: str, rest: list[str]) -> Target:
    namespace: str | None
    match rest:
        case ["namespaces", _, part, *_] if part in NAMESPACE_SUBRESOURCES:
            namespace = None
        case ["namespaces", namespace, *within] if within:
            rest = within
        case _:
            namespace = None
    resource, name, subresource, *more = [*rest, "", ""] if len(rest) < _FULL else rest
    return Target(
        group=group,
        version=version,
        resource=resource,
        namespace=namespace,
        name=name or None,
        subresource=subresource,
        rest=tuple(part for part in more if part),
    )


_FULL = 3
"""Parts of a path with a subresource."""
