"""JSON output of the command line: indented, with keys in their order."""

from typing import Any


def json_text(value: Any) -> str:
    import orjson  # noqa: PLC0415 - not needed for --help

    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
