"""Regular expressions as Go reads them (RE2), run by a linear-time engine. Knows text; knows no schema."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import jsonschema_rs

from jangar.schema.errors import SchemaRejected

_CLASSES: Final = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t\x20", "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": r"\x20-~", "punct": r"!-\/:-@\[-`{-~",
    "space": r"\t\n\v\f\r\x20", "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_POSIX: Final = re.compile(r"\[:(\^?)([a-z]+):\]")
_QUOTED: Final = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)
_LIMIT: Final = jsonschema_rs.RegexOptions(size_limit=10 * 2**20)
_LONGEST: Final = 10_000


def portable(pattern: str) -> str:
    r"""The pattern with what only RE2 knows spelled out: [[:alpha:]] and \Q...\E."""
    text = _QUOTED.sub(lambda found: re.escape(found[1]), pattern) if r"\Q" in pattern else pattern
    return _POSIX.sub(_class, text) if "[:" in text else text


def _class(found: re.Match[str]) -> str:
    negated, name = found[1], found[2]
    # A negated class inside brackets has no short spelling; nobody has been seen to write one in a schema.
    return found[0] if negated or name not in _CLASSES else _CLASSES[name]


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text has a match. Raises SchemaRejected for a pattern that cannot be compiled."""
    if len(pattern) > _LONGEST:
        raise SchemaRejected(f"pattern of {len(pattern)} characters is longer than {_LONGEST}")
    try:
        validator = jsonschema_rs.Draft202012Validator({"pattern": portable(pattern)}, pattern_options=_LIMIT)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise SchemaRejected(f"pattern {pattern!r} is not a regular expression") from error
    return _of_text(validator)


def _of_text(validator: jsonschema_rs.Draft202012Validator) -> Callable[[str], bool]:
    def has_match(text: str) -> bool:
        # A lone surrogate is not text to the engine; Go would have replaced it when it read the JSON.
        return validator.is_valid(text.encode(errors="replace").decode())

    return has_match
