"""x-kubernetes-validations."""

from collections.abc import Mapping
from typing import Any

from jangar.schema.errors import FieldError
from jangar.schema.node import Node


class RuleSet:
    @classmethod
    def of(cls, root: Node) -> "RuleSet | None":
        return None

    def errors(self, obj: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[FieldError]:
        return []
