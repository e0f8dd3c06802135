"""Expands `$(NAME)` in commands, arguments and environment values as Kubernetes does. Pure."""

from collections.abc import Mapping
from typing import Final

MAX_EXPANDED: Final = 1024 * 1024
"""Characters: variables that refer to each other can grow exponentially. Linux limits an argument to 128 KiB."""


class ExpansionTooLarge(ValueError):
    """An expanded text exceeds MAX_EXPANDED."""


def expand_variables(text: str, values: Mapping[str, str]) -> str:
    """Replace references to known variables. Unknown references are kept; `$$` becomes `$`."""
    # Not a regular expression: with hundreds of thousands of references it is too slow.
    parts = []
    position = size = 0
    last_end = text.rfind(")")
    while (dollar := text.find("$", position)) >= 0:
        parts.append(text[position:dollar])
        position = dollar + 2
        match text[dollar + 1 : position]:
            case "$":
                parts.append("$")
            case "(" if position <= last_end:
                end = text.index(")", position)
                parts.append(values.get(text[position:end], text[dollar : end + 1]))
                position = end + 1
                size += len(parts[-1])
                if size > MAX_EXPANDED:
                    raise ExpansionTooLarge(
                        f"expanding $({text[dollar + 2 : end][:64]}) exceeds {MAX_EXPANDED} characters"
                    )
            case _:
                parts.append("$")
                position = dollar + 1
    return "".join([*parts, text[position:]])
