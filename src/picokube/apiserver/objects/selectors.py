"""Label and field selectors: parses them with the grammar and messages of Kubernetes, and matches objects."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from picokube.apiserver.kinds.names import label_value_problems, qualified_name_problems
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import JsonObject, Request
from picokube.apiserver.storage.store import Stored

_TOKEN = re.compile(r"\s*(==|!=|=|>|<|!|,|\(|\)|[^\s=!<>,()]+)")
_IN, _NOT_IN = "in", "notin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One part of a label selector."""

    key: str
    operator: str
    """in, notin, exists, !, gt or lt."""
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value is not None and value in self.values
            case "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case "gt":
                return _is_integer(value) and int(value or 0) > int(self.values[0])
            case _:
                return _is_integer(value) and int(value or 0) < int(self.values[0])


def _is_integer(value: str | None) -> bool:
    return value is not None and re.fullmatch(r"[+-]?\d+", value) is not None


LabelSelector = tuple[Requirement, ...]


def matches_labels(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    return all(requirement.matches(labels) for requirement in selector)


def parse_labels(text: str | None) -> LabelSelector:
    """Raises a bad request with the text of the real server."""
    if not text or not text.strip():
        return ()
    return _LabelParser(text).parse()


class _LabelParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.place = 0

    def parse(self) -> LabelSelector:
        found = [self._requirement()]
        while self._peek() == ",":
            self._next()
            if not self._peek():
                raise errors.bad_request("found '', expected: identifier after ','")
            found.append(self._requirement())
        if self._peek():
            raise errors.bad_request(f"found '{self._peek()}', expected: ',' or 'end of string'")
        return tuple(sorted(found, key=lambda item: item.key))

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._next()
            if not self._peek():
                raise self._unexpected("", "identifier")
            return Requirement(key=self._key(), operator="!")
        key = self._key()
        word = self._peek()
        match word:
            case "" | ",":
                return Requirement(key=key, operator="exists")
            case "=" | "==" | "!=":
                self._next()
                operator = _NOT_IN if word == "!=" else _IN
                return Requirement(key=key, operator=operator, values=(self._value(key),))
            case ">" | "<":
                self._next()
                return self._comparison(key, "gt" if word == ">" else "lt")
            case "in" | "notin":
                self._next()
                return Requirement(key=key, operator=word, values=self._values(key))
            case _:
                expected = "in, notin, =, ==, !=, gt, lt"
                raise _unparsable(f"found '{word}', expected: {expected}")

    def _key(self) -> str:
        word = self._next()
        if word in ("", ",", "(", ")", "=", "==", "!=", ">", "<"):
            raise errors.bad_request(f"found '{word}', expected: !, identifier, or 'end of string'")
        problems = qualified_name_problems(word)
        if problems:
            raise _unparsable(f'<nil>: Invalid value: "{word}": {"; ".join(problems)}')
        return word

    def _value(self, key: str) -> str:
        if self._peek() in ("", ","):
            return ""
        return _checked(key, self._next())

    def _values(self, key: str) -> tuple[str, ...]:
        opening = self._next()
        if opening != "(":
            raise _unparsable(f"found '{opening}' expected: '('")
        values: list[str] = []
        expecting = True
        while (word := self._next()) != ")":
            if word == "" or (word != "," and not expecting):
                raise self._unexpected(word, "',' or ')'")
            if word == ",":
                if expecting:
                    values.append("")
                expecting = True
            else:
                values.append(_checked(key, word))
                expecting = False
        if expecting:
            values.append("")
        return tuple(sorted(set(values)))

    def _comparison(self, key: str, operator: str) -> Requirement:
        value = self._next()
        if not _is_integer(value):
            detail = (
                "values[0]: Invalid value: \"{}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
            raise _unparsable(detail.format(value))
        return Requirement(key=key, operator=operator, values=(value,))

    def _peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _next(self) -> str:
        word = self._peek()
        self.place += 1
        return word

    def _unexpected(self, word: str, expected: str) -> errors.ApiError:
        return _unparsable(f"found '{word}', expected: {expected}")


def _tokens(text: str) -> list[str]:
    found, place = [], 0
    while match := _TOKEN.match(text, place):
        found.append(match.group(1))
        place = match.end()
    return found


def _checked(key: str, value: str) -> str:
    problems = label_value_problems(value)
    if problems:
        raise _unparsable(f'values[0][{key}]: Invalid value: "{value}": {"; ".join(problems)}')
    return value


def _unparsable(why: str) -> errors.ApiError:
    return errors.bad_request(f"unable to parse requirement: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldTerm:
    """`field=value` or `field!=value`."""

    field: str
    value: str
    negated: bool = False


FieldSelector = tuple[FieldTerm, ...]


def parse_fields(
    text: str | None,
    *,
    is_known: Callable[[str], bool],
    refusal: Callable[[str], str] = "field label not supported: {}".format,
) -> FieldSelector:
    """Raises a bad request for text that is no selector and for fields that the kind cannot be selected by."""
    terms: list[FieldTerm] = []
    for part in _split(text or ""):
        if not part:
            continue
        term = _term(part)
        if term is None:
            raise errors.bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
        if not is_known(term.field):
            raise errors.bad_request(refusal(term.field))
        terms.append(term)
    return tuple(terms)


def _split(text: str) -> Sequence[str]:
    parts, current, escaped = [], "", False
    for character in text:
        if character == "," and not escaped:
            parts.append(current)
            current = ""
            continue
        escaped = character == "\\" and not escaped
        current += character
    return [*parts, current]


def _term(part: str) -> FieldTerm | None:
    for operator in ("!=", "==", "="):
        field, found, value = part.partition(operator)
        if found:
            plain = re.sub(r"\\([,=\\])", r"\1", value)
            return FieldTerm(field=field.strip(), value=plain, negated=operator == "!=")
    return None


def matches_fields(selector: FieldSelector, value_of: Callable[[str], str]) -> bool:
    return all((value_of(term.field) == term.value) is not term.negated for term in selector)


_NOT_SUPPORTED = "field label not supported: {}".format
_METADATA_FIELDS = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Both selectors of a request."""

    labels: LabelSelector = ()
    fields: FieldSelector = ()
    converted: Callable[[JsonObject], JsonObject] | None = None
    """Where versions of a kind name their fields otherwise: how to read what another version stored."""

    @property
    def is_everything(self) -> bool:
        return not self.labels and not self.fields

    @property
    def name(self) -> str | None:
        """The one name that can match, if the selector names it."""
        names = [term.value for term in self.fields if term.field == "metadata.name" and not term.negated]
        return names[0] if names else None

    def matches(self, stored: Stored) -> bool:
        if self.labels and not matches_labels(self.labels, stored.labels):
            return False
        return not self.fields or matches_fields(self.fields, _Fields(stored, self.converted).value)


class _Fields:
    """Field values of an object; it is parsed only for fields other than its name and namespace."""

    def __init__(self, stored: Stored, converted: Callable[[JsonObject], JsonObject] | None) -> None:
        self._stored = stored
        self._converted = converted
        self._object: JsonObject | None = None

    def value(self, field: str) -> str:
        if field == "metadata.name":
            return self._stored.key.name
        if field == "metadata.namespace":
            return self._stored.key.namespace
        if self._object is None:
            found: JsonObject = orjson.loads(self._stored.data)
            self._object = self._converted(found) if self._converted else found
        return field_text(self._object, field)


def field_text(obj: Mapping[str, Any], field: str) -> str:
    """A field as a selector compares it: missing is empty."""
    value: Any = obj
    for part in field.lstrip(".").split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
        if value is None:
            return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def selection_of(request: Request, resource: ResourceType) -> Selection:
    """Raises a bad request for selectors that cannot be read, or that the kind does not have."""
    known = {
        *_METADATA_FIELDS,
        *(selectable_field.lstrip(".") for selectable_field in resource.selectable_fields),
    }
    return Selection(
        converted=getattr(resource.strategy, "converted", None),
        labels=parse_labels(request.parameter("labelSelector")),
        fields=parse_fields(
            request.parameter("fieldSelector"),
            is_known=known.__contains__,
            refusal=_only_metadata
            if not (resource.selectable_fields or resource.is_custom)
            else _NOT_SUPPORTED,
        ),
    )


def _only_metadata(field: str) -> str:
    return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
