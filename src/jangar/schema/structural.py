"""Structural schemas."""

from collections.abc import Mapping
from typing import Any

from jangar.schema.errors import FieldError


def structural_problems(schema: Mapping[str, Any]) -> list[FieldError]:
    raise NotImplementedError
