"""Applies the schema of a CustomResourceDefinition as kube-apiserver 1.35 does, with the same messages.

Checks whether a schema is structural, prunes and defaults objects, validates them and runs their CEL rules. The
package works on schemas and plain JSON values, independent of kinds, storage and HTTP. Imports: the standard library,
jsonschema_rs, orjson, and, only in `cel.program`, cel_expr_python, which is loaded with the first expression.
"""

from picokube.schema.admission import CompiledSchema, admit, check, check_status, fill
from picokube.schema.cel.program import CelType, Condition, compile_condition
from picokube.schema.errors import (
    CelError,
    CelEvaluationError,
    CelSyntaxError,
    ErrorType,
    FieldError,
    JsonPathError,
    SchemaError,
    SchemaRejected,
    UnknownField,
)
from picokube.schema.jsonpath import JsonPath
from picokube.schema.node import unknown_keywords
from picokube.schema.structural.structure import structural_problems

__all__ = [
    "CelError",
    "CelEvaluationError",
    "CelSyntaxError",
    "CelType",
    "CompiledSchema",
    "Condition",
    "ErrorType",
    "FieldError",
    "JsonPath",
    "JsonPathError",
    "SchemaError",
    "SchemaRejected",
    "UnknownField",
    "admit",
    "check",
    "check_status",
    "compile_condition",
    "fill",
    "structural_problems",
    "unknown_keywords",
]
