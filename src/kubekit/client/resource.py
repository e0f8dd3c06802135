"""A Kubernetes resource: its group, version, plural and kind, and the URL paths of its objects."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """The path of an object, or of a collection if no name is given; no namespace means all namespaces."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", quote(namespace, safe="")]
        elif self.namespaced and name:
            raise ValueError(f"{self.kind} {name}: the path of a namespaced object requires its namespace")
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)
