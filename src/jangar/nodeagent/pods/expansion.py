"""`$(NAME)` in commands, arguments and values, as Kubernetes reads it. Pure."""

from collections.abc import Mapping
from typing import Any

import re2

_REFERENCE = re2.compile(r"\$\$|\$\(([^)]*)\)")


def expanded(text: str, values: Mapping[str, str]) -> str:
    """References to known names replaced; unknown ones stay as they are; `$$` is `$`."""

    def replacement(found: Any) -> str:
        if found[0] == "$$":
            return "$"
        known: str = values.get(found[1], found[0])
        return known

    result: str = _REFERENCE.sub(replacement, text)
    return result
