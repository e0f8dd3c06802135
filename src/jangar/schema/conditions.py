"""Conditions: one CEL expression over named variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class CelType(StrEnum):
    DYN = "dyn"
    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    LIST = "list"
    MAP = "map"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    source: str

    def references(self, variable: str) -> frozenset[str]:
        raise NotImplementedError

    def evaluate(self, bindings: Mapping[str, object]) -> object:
        raise NotImplementedError


def compile_condition(source: str, variables: Mapping[str, CelType]) -> Condition:
    raise NotImplementedError
