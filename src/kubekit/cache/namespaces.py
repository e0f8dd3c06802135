"""A set of namespaces: some by name, or all."""

from dataclasses import dataclass
from typing import Self

from kubekit.dns_names import is_dns_label


class BadNamespaces(ValueError):
    """The text is not a list of namespaces; the message says which part is invalid."""


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Namespaces by name; None means all, including future ones."""

    names: tuple[str, ...] | None

    @classmethod
    def every(cls) -> Self:
        return cls(None)

    @classmethod
    def of(cls, *names: str) -> Self:
        return cls(names)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `a,b` or `*`. Spaces around names and duplicates are ignored."""
        parts = [part.strip() for part in text.split(",")]
        if parts == ["*"]:
            return cls(None)
        if parts == [""]:
            raise BadNamespaces("no namespace: pass one or more, separated by commas, or '*' for all")
        for number, part in enumerate(parts, start=1):
            if part == "*":
                raise BadNamespaces(f"{text!r}: '*' means all namespaces and cannot be combined with names")
            if not part:
                raise BadNamespaces(f"{text!r}: part {number} is empty")
            if not is_dns_label(part):
                raise BadNamespaces(
                    f"{part!r} is not a valid namespace name: use at most 63 lowercase letters, digits and '-', "
                    "starting and ending with a letter or digit"
                )
        return cls(tuple(dict.fromkeys(parts)))

    def union(self, other: "Namespaces") -> "Namespaces":
        """The namespaces in either set."""
        if self.names is None or other.names is None:
            return Namespaces.every()
        return Namespaces.of(*dict.fromkeys((*self.names, *other.names)))

    def __contains__(self, namespace: str) -> bool:
        return self.names is None or namespace in self.names

    def __str__(self) -> str:
        return "*" if self.names is None else ",".join(self.names)
