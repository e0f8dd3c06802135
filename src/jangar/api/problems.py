"""A validation problem: its field, what is wrong, and how to fix it."""

from dataclasses import dataclass

from jangar.api.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One validation problem. `path` starts at the object's root: `("spec", "steps", 2, "dependsOn")`."""

    reason: Reason
    path: tuple[str | int, ...]
    message: str
    fix: str = ""
    step: str | None = None

    @property
    def field(self) -> str:
        """The path as Kubernetes writes it: `spec.steps[2].dependsOn`."""
        return dotted(self.path)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" + (f" ({self.fix})" if self.fix else "")


def dotted(path: tuple[str | int, ...]) -> str:
    """Field path in Kubernetes' notation."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text
