"""Applies the schema of a CustomResourceDefinition as kube-apiserver 1.35 does, with the same messages.

Checks whether a schema is structural, prunes and defaults objects, validates them and runs their CEL rules. The
package works on schemas and plain JSON values, independent of kinds, storage and HTTP. Imports: the standard library,
jsonschema_rs, orjson, and, only in `cel`, cel_expr_python, which is loaded with the first expression.
"""

from picokube.schema.compiled import CompiledSchema
from picokube.schema.conditions import CelType, Condition, compile_condition
from picokube.schema.errors import (
    CelError,
    CelEvaluationError,
    CelSyntaxError,
    ErrorType,
    FieldError,
    JsonPathError,
    SchemaError,
    SchemaRejected,
)
from picokube.schema.jsonpath import JsonPath
from picokube.schema.pruning import UnknownField
from picokube.schema.schema_reading import unknown_keywords
from picokube.schema.structural import structural_problems
from picokube.schema.validation import admit, check, check_status, fill

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
