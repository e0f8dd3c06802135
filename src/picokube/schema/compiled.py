"""A compiled schema: the fast validator, the rules, and the routes to the parts of an object that need work."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import jsonschema_rs

from picokube.schema.cel_rules import RuleSet
from picokube.schema.defaulting import default_routes
from picokube.schema.embedded import embedding_routes
from picokube.schema.fast_validator import compile_fast_validator
from picokube.schema.fast_validator_cache import PassedObjects, list_routes
from picokube.schema.listtypes import keyed_routes
from picokube.schema.node import Node, Routes


@dataclass(frozen=True, kw_only=True, eq=False)
class CompiledSchema:
    """The openAPIV3Schema of one version of a kind."""

    source: Mapping[str, Any]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> Self:
        """Compile a schema. CEL rules are compiled at first use. Raises SchemaRejected."""
        found = cls(source=schema)
        _ = found.gate
        return found

    @classmethod
    def later(cls, schema: Mapping[str, Any]) -> Self:
        """For a schema that was validated before: each part is compiled at first use."""
        return cls(source=schema)

    @cached_property
    def root(self) -> Node:
        """The root node of the schema."""
        return Node.of(self.source)

    @cached_property
    def gate(self) -> jsonschema_rs.Draft202012Validator:
        """The fast validator. Objects that fail need the full validation."""
        return compile_fast_validator(self.root)

    @cached_property
    def defaulted(self) -> Routes:
        """The routes to nodes with defaults."""
        return default_routes(self.root)

    @cached_property
    def keyed(self) -> Routes:
        """The routes to lists of type set or map."""
        return keyed_routes(self.root)

    @cached_property
    def embedding(self) -> Routes:
        """The routes to embedded resources."""
        return embedding_routes(self.root)

    @cached_property
    def lists(self) -> Routes:
        """The routes to lists whose unchanged items the fast validator can skip."""
        return list_routes(self.root)

    @cached_property
    def passed(self) -> PassedObjects:
        """Objects that passed the fast validator."""
        return PassedObjects()

    @cached_property
    def rules(self) -> RuleSet | None:
        """The compiled x-kubernetes-validations, if the schema has any."""
        return RuleSet.of(self.root)
