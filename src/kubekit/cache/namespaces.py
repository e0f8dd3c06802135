"""Which namespaces a process looks after: a list, or all."""

import re
from dataclasses import dataclass
from typing import Final, Self

LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class BadNamespaces(ValueError):
    """The text names no set of namespaces; the message says which part is at fault."""


@dataclass(frozen=True, slots=True)
class Namespaces:
    """A few by name, or with None all of them, also those to come."""

    names: tuple[str, ...] | None

    @classmethod
    def every(cls) -> Self:
        return cls(None)

    @classmethod
    def of(cls, *names: str) -> Self:
        return cls(names)

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `a,b` or `*`. Spaces around names are nothing; a name told twice is told once."""
        parts = [part.strip() for part in text.split(",")]
        if parts == ["*"]:
            return cls(None)
        if parts == [""]:
            raise BadNamespaces("no namespace: name one or more, separated by commas, or '*' for all")
        for place, part in enumerate(parts, start=1):
            if part == "*":
                raise BadNamespaces(f"{text!r}: '*' means all namespaces and stands alone")
            if not part:
                raise BadNamespaces(f"{text!r}: part {place} is empty")
            if not LABEL.fullmatch(part):
                raise BadNamespaces(
                    f"{part!r} is no namespace: at most 63 lower case letters, digits and '-', "
                    "with a letter or digit at both ends"
                )
        return cls(tuple(dict.fromkeys(parts)))

    def union(self, other: "Namespaces") -> "Namespaces":
        """Those of both."""
        if self.names is None or other.names is None:
            return Namespaces.every()
        return Namespaces.of(*dict.fromkeys((*self.names, *other.names)))

    def __contains__(self, namespace: str) -> bool:
        return self.names is None or namespace in self.names

    def __str__(self) -> str:
        return "*" if self.names is None else ",".join(self.names)
