"""Regular expressions as Go reads them (RE2), run by a linear-time engine. Knows text; knows no schema."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import jsonschema_rs

from picokube.schema.errors import SchemaRejected
from picokube.schema.regex_syntax import problem_of, spelled_out

_LIMIT: Final = jsonschema_rs.RegexOptions(size_limit=10 * 2**20)
_LONGEST: Final = 10_000


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text has a match. Raises SchemaRejected for a pattern that cannot be compiled."""
    if len(pattern) > _LONGEST:
        raise SchemaRejected(f"pattern of {len(pattern)} characters is longer than {_LONGEST}")
    if problem := problem_of(pattern):
        raise SchemaRejected(problem)
    try:
        validator = jsonschema_rs.Draft202012Validator(
            {"pattern": spelled_out(pattern)}, pattern_options=_LIMIT
        )
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise SchemaRejected(f"pattern {pattern!r} is not a regular expression") from error
    return _of_text(validator)


def _of_text(validator: jsonschema_rs.Draft202012Validator) -> Callable[[str], bool]:
    def has_match(text: str) -> bool:
        # A lone surrogate is not text to the engine; Go would have replaced it when it read the JSON.
        return validator.is_valid(text.encode(errors="replace").decode())

    return has_match
