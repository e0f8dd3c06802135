"""The error messages of Kubernetes for values that violate their schema.

The messages are those of kube-openapi ("spec.n in body should be ..."), converted to field errors like in
apiextensions-apiserver. `name` is the field in the notation of kube-openapi, `at` the path to the value.
"""

from collections.abc import Sequence
from typing import Any

from picokube.schema.errors import (
    NO_FIELD,
    FieldError,
    Path,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from picokube.schema.go_text import as_json, format_number, go_quote


def _field(name: str) -> str:
    return name.removeprefix(".") or NO_FIELD


def wrong_type(name: str, at: Path, expected: Sequence[str], found: str) -> FieldError:
    problem = f"{name} in body must be of type {','.join(expected)}: {go_quote(found)}"
    return type_invalid(_field(name), found, problem, path=at)


def wrong_format(name: str, at: Path, expected: str, value: str) -> FieldError:
    return type_invalid(
        _field(name), value, f"{name} in body must be of type {expected}: {go_quote(value)}", path=at
    )


def missing(name: str, at: Path) -> FieldError:
    return required(_field(name), path=at)


def not_in_enum(name: str, at: Path, value: Any, allowed: Sequence[Any]) -> FieldError:
    shown = [item if isinstance(item, str) else as_json(item) for item in allowed]
    return not_supported(_field(name), value, shown, path=at)


def longer(name: str, at: Path, limit: int) -> FieldError:
    return too_long(_field(name), limit, path=at)


def shorter(name: str, at: Path, limit: int, value: str) -> FieldError:
    return invalid(_field(name), value, f"{name} in body should be at least {limit} chars long", path=at)


def unmatched(name: str, at: Path, pattern: str, value: str) -> FieldError:
    return invalid(_field(name), value, f"{name} in body should match '{pattern}'", path=at)


def out_of_range(name: str, at: Path, value: float, relation: str, limit: float) -> FieldError:
    return invalid(
        _field(name), value, f"{name} in body should be {relation} {format_number(limit)}", path=at
    )


def not_multiple(name: str, at: Path, value: float, factor: float) -> FieldError:
    return invalid(
        _field(name), value, f"{name} in body should be a multiple of {format_number(factor)}", path=at
    )


def useless_factor(name: str, at: Path, factor: float) -> FieldError:
    problem = f"factor MultipleOf declared for {name} must be positive: {format_number(factor)}"
    return invalid(_field(name), factor, problem, path=at)


def more_items(name: str, at: Path, size: int, limit: int) -> FieldError:
    return too_many(_field(name), size, limit, path=at)


def fewer_items(name: str, at: Path, size: int, limit: int, *, what: str) -> FieldError:
    return invalid(_field(name), size, f"{name} in body should have at least {limit} {what}", path=at)


def not_allowed(name: str, at: Path, key: str) -> FieldError:
    return invalid(_field(name), key, f"{name}.{key} in body is a forbidden property", path=(*at, key))


def none_of(name: str, at: Path) -> FieldError:
    return _about_all(at, f"{go_quote(name)} must validate at least one schema (anyOf)")


def not_one_of(name: str, at: Path, valid: int) -> FieldError:
    found = f"Found {valid} valid alternatives" if valid else "Found none valid"
    return _about_all(at, f"{go_quote(name)} must validate one and only one schema (oneOf). {found}")


def not_all_of(name: str, at: Path, valid: int) -> FieldError:
    return _about_all(
        at, f"{go_quote(name)} must validate all the schemas (allOf){'' if valid else '. None validated'}"
    )


def forbidden_shape(name: str, at: Path) -> FieldError:
    return _about_all(at, f"{go_quote(name)} must not validate the schema (not)")


def _about_all(at: Path, sentence: str) -> FieldError:
    # In Kubernetes these errors have no field, only the message names it.
    return invalid(NO_FIELD, "", sentence, path=at)


def rules_not_run() -> FieldError:
    problem = (
        "some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )
    return invalid(NO_FIELD, None, problem)
