"""A schema compiled once, for cheap use on every object. Knows which parts of an object need which work."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import jsonschema_rs

from picokube.schema.cel_rules import RuleSet
from picokube.schema.defaulting import default_routes
from picokube.schema.embedded import embedding_routes
from picokube.schema.fast_validator import gate_of
from picokube.schema.fast_validator_cache import Passed, list_routes
from picokube.schema.listtypes import keyed_routes
from picokube.schema.node import Node, Routes


@dataclass(frozen=True, kw_only=True, eq=False)
class CompiledSchema:
    """The openAPIV3Schema of one version of one kind. Routes lead to the parts that need work."""

    source: Mapping[str, Any]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> Self:
        """Raises SchemaRejected when the schema cannot be compiled; its CEL rules are compiled at first use."""
        found = cls(source=schema)
        _ = found.gate
        return found

    @classmethod
    def later(cls, schema: Mapping[str, Any]) -> Self:
        """Of a schema that was found to be good before: each part is compiled at first use."""
        return cls(source=schema)

    @cached_property
    def root(self) -> Node:
        """The tree of the schema."""
        return Node.of(self.source)

    @cached_property
    def gate(self) -> jsonschema_rs.Draft202012Validator:
        """Says whether an object needs a closer look."""
        return gate_of(self.root)

    @cached_property
    def defaulted(self) -> Routes:
        """The ways to what may need a default."""
        return default_routes(self.root)

    @cached_property
    def keyed(self) -> Routes:
        """The ways to lists whose items have keys."""
        return keyed_routes(self.root)

    @cached_property
    def embedding(self) -> Routes:
        """The ways to whole objects within the object."""
        return embedding_routes(self.root)

    @cached_property
    def lists(self) -> Routes:
        """The ways to lists of which the gate need not see every item again."""
        return list_routes(self.root)

    @cached_property
    def passed(self) -> Passed:
        """Objects that passed the gate."""
        return Passed()

    @cached_property
    def rules(self) -> RuleSet | None:
        """The compiled x-kubernetes-validations, if the schema has any."""
        return RuleSet.of(self.root)
