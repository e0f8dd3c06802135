"""Matches Go regular expressions (RE2) with a linear-time engine."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import jsonschema_rs

from picokube.schema.errors import SchemaRejected
from picokube.schema.regex_syntax import pattern_error, translate_pattern

_LIMIT: Final = jsonschema_rs.RegexOptions(size_limit=10 * 2**20)
_LONGEST: Final = 10_000


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Callable[[str], bool]:
    """A function that tells whether a text matches. Raises SchemaRejected for an invalid pattern."""
    if len(pattern) > _LONGEST:
        raise SchemaRejected(f"pattern of {len(pattern)} characters is longer than {_LONGEST}")
    if problem := pattern_error(pattern):
        raise SchemaRejected(problem)
    try:
        validator = jsonschema_rs.Draft202012Validator(
            {"pattern": translate_pattern(pattern)}, pattern_options=_LIMIT
        )
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise SchemaRejected(f"pattern {pattern!r} is not a regular expression") from error
    return _of_text(validator)


def _of_text(validator: jsonschema_rs.Draft202012Validator) -> Callable[[str], bool]:
    def has_match(text: str) -> bool:
        # The engine rejects lone surrogates. Go replaces them when it decodes the JSON.
        return validator.is_valid(text.encode(errors="replace").decode())

    return has_match
