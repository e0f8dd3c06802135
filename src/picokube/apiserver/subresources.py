"""What subresources are, for clients that ask: their verbs, and the kind of what they answer. Pure."""

from typing import Final

_VERBS: Final[dict[str, tuple[str, ...]]] = {
    "log": ("get",),
    "finalize": ("update",),
    "token": ("create",),
    "binding": ("create",),
    "eviction": ("create",),
}
_KINDS: Final = {
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
    "binding": ("", "", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
}
_CUSTOM_ORDER: Final = ("status", "scale")
OF_A_RUNNING_POD: Final = frozenset(
    {"attach", "ephemeralcontainers", "exec", "portforward", "proxy", "resize"}
)
"""Built-in kinds have them where a kubelet runs containers; here they are refused by name."""


def subresource_verbs(name: str) -> tuple[str, ...]:
    return _VERBS.get(name, ("get", "patch", "update"))


def subresource_kind(name: str) -> tuple[str, str, str] | None:
    """Group, version and kind, where it is not that of the object."""
    return _KINDS.get(name)


def in_order(names: frozenset[str], *, is_custom: bool) -> list[str]:
    """As a real server lists them."""
    return [name for name in _CUSTOM_ORDER if name in names] if is_custom else sorted(names)
