"""`$(NAME)` in commands, arguments and values, as Kubernetes reads it. Pure."""

from collections.abc import Mapping
from typing import Final

MAX_EXPANDED: Final = 1024 * 1024
"""Characters of one text: variables that refer to each other can double it at every step. Linux takes 128 KiB."""


class ExpansionTooLarge(ValueError):
    """A text whose references make it longer than any process can be given."""


def expanded(text: str, values: Mapping[str, str]) -> str:
    """References to known names replaced; unknown ones stay as they are; `$$` is `$`.

    A user may write hundreds of thousands of references, and a match of a regular expression costs microseconds.
    """
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
                        f"$({text[dollar + 2 : end][:64]}) makes a text of more than {MAX_EXPANDED} characters"
                    )
            case _:
                parts.append("$")
                position = dollar + 1
    return "".join([*parts, text[position:]])
