"""What a Kubernetes API server does with the schema of a CustomResourceDefinition.

It tells whether a schema is structural, prunes and defaults objects, validates them and runs their CEL rules,
in the words of kube-apiserver 1.35. It knows schemas and plain JSON values; it knows no kind, no product, no
storage and no HTTP. Imports: the standard library, jsonschema_rs, orjson, and, in `cel` alone, cel_expr_python,
which is loaded when the first expression is compiled and not before.
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
