"""Parses the result that work writes into outputs: names and texts (DAG-11)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from jangar.api.reasons import Reason

MAX_BYTES = 4096
MAX_DEPTH = 100
RESULT = "result"

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputsProblem:
    """Why a result cannot become outputs."""

    reason: Reason
    message: str


def read_outputs(raw: bytes | str, *, may_be_cut: bool = False) -> dict[str, str] | OutputsProblem:
    """The outputs in a result: the members of a JSON object, or any other text as `result`.

    Values that are not strings stay JSON, without spaces and with numbers as they were written. A result that came
    through a pod's status may be the end of a longer one: nodes keep the last 4,096 bytes and do not say that they cut.
    """
    written = raw.encode("utf-8", "replace") if isinstance(raw, str) else raw
    if may_be_cut and len(written) == MAX_BYTES:
        return OutputsProblem(
            reason=Reason.OUTPUTS_TOO_LARGE,
            message=f"the result fills the {MAX_BYTES} bytes that a pod can report and is probably truncated",
        )
    if len(written) > MAX_BYTES:
        return OutputsProblem(
            reason=Reason.OUTPUTS_TOO_LARGE,
            message=f"the result has {len(written)} bytes; at most {MAX_BYTES} are allowed",
        )
    text = _clean(written.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK)).rstrip("\r\n")
    if not text.strip():
        return {}
    members = _json_object(text)
    if members is None:
        return {RESULT: text}
    return {_clean(name): _output(value) for name, value in members.items()}


def with_defaults(outputs: Mapping[str, str], declared_defaults: Mapping[str, str]) -> dict[str, str]:
    """The outputs, with declared defaults for those that were not written."""
    return {**declared_defaults, **outputs}


class _Number(str):
    """A number as it was written: no digit is lost, and none is too big."""

    __slots__ = ()


def _json_object(text: str) -> dict[str, object] | None:
    if not text.lstrip().startswith("{") or _depth(text) > MAX_DEPTH:
        return None
    try:
        read = json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _depth(text: str) -> int:
    """The nesting depth of brackets outside strings."""
    depth = deepest = 0
    quoted = escaped = False
    for item in text:
        if quoted:
            quoted = escaped or item != '"'
            escaped = not escaped and item == "\\"
        elif item == '"':
            quoted = True
        elif item in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif item in "]}":
            depth -= 1
    return deepest


def _output(value: object) -> str:
    plain = isinstance(value, str) and not isinstance(value, _Number)
    return _clean(str(value)) if plain else _compact(value)


def _compact(value: object) -> str:
    match value:
        case _Number():
            return str(value)
        case str():
            return json.dumps(_clean(value), ensure_ascii=False)
        case dict():
            return "{" + ",".join(f"{_compact(name)}:{_compact(item)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_compact, value)) + "]"
        case _:
            return json.dumps(value)


def _clean(text: str) -> str:
    """The text without characters that APIs and databases reject: NUL and lone surrogates."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", _REPLACEMENT)
