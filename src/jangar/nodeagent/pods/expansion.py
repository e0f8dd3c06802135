"""`$(NAME)` in commands, arguments and values, as Kubernetes reads it. Pure."""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")


def expanded(text: str, values: Mapping[str, str]) -> str:
    """References to known names replaced; unknown ones stay as they are; `$$` is `$`."""

    def replacement(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        return values.get(found[1], found[0])

    return _REFERENCE.sub(replacement, text)
