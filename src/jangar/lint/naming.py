"""What an object is called in messages."""

from typing import Any


def name_in(metadata: Any) -> str:
    """Its name; of an object that gets one later, what it begins with and a star; else nothing."""
    match metadata:
        case {"name": str(name)}:
            return name
        case {"generateName": str(prefix)} if prefix:
            return f"{prefix}*"
        case _:
            return ""
