"""Reads YAML with libyaml, event by event, so that limits hold before anything is built.

Documents are read one by one: a mistake in one hides nothing in the next. Knows YAML's spelling; what a
document may hold is the tree's business.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import yaml

from jangar.lint.limits import MAX_DOCUMENTS
from jangar.lint.reasons import FileReason
from jangar.lint.scalars import NumberRefused, Scalar, plain_scalar
from jangar.lint.tree import MERGE, Budget, Flaw, Refused, TreeBuilder

_SEPARATOR: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_DIRECTIVE: Final = re.compile(r"^%", re.MULTILINE)
_TAG: Final = "tag:yaml.org,2002:"
_CONTAINER_TAGS: Final = frozenset({None, "!", f"{_TAG}map", f"{_TAG}seq"})
_SCALAR_TAGS: Final[dict[str, tuple[type, ...]]] = {
    f"{_TAG}int": (int,),
    f"{_TAG}float": (float, int),
    f"{_TAG}bool": (bool,),
    f"{_TAG}null": (type(None),),
}
_TEXT_TAGS: Final = frozenset({"!", f"{_TAG}str", f"{_TAG}timestamp"})

_FIXES: Final = (
    (
        "cannot start any token",
        "indent with spaces, not tabs, and quote text that begins with a sign such as @ or %",
    ),
    ("mapping values are not allowed", "check the indentation, and quote text that contains ': '"),
    ("could not find expected ':'", "write key: value, with a space after the colon"),
    ("did not find expected key", "check the indentation of this line and the one above"),
    ("did not find expected '-' indicator", "check the indentation of the list"),
    ("unexpected end of stream", "close the quote, bracket or brace that is open"),
    ("control characters are not allowed", "remove the control character"),
    ("did not find expected ',' or", 'close the bracket or brace; quote a template: "{{ parameters.name }}"'),
)


def read_yaml(text: str, budget: Budget) -> Iterator[TreeBuilder | Flaw]:
    """Every document of the text in order; a Flaw instead of one that cannot be read completely."""
    chunks = list(islice(_chunks(text), MAX_DOCUMENTS + 1))
    if len(chunks) > MAX_DOCUMENTS:
        yield Flaw(
            reason=FileReason.TOO_LARGE,
            offset=chunks[-1][0],
            message=f"more than {MAX_DOCUMENTS:,} documents in one file",
            fix="split the file",
        )
        return
    for start, end in chunks:
        try:
            yield from _documents(text[start:end], start, budget)
        except Refused as refused:
            yield refused.flaw
            if refused.flaw.reason is FileReason.TOO_LARGE:
                return
        except yaml.MarkedYAMLError as error:
            yield _syntax_flaw(error, start, end)
        except yaml.YAMLError as error:
            # A reader error: a character that YAML has no place for.
            offset = getattr(error, "position", 0)
            yield _flaw_of(str(getattr(error, "reason", error)), start + max(0, int(offset)))


def _chunks(text: str) -> Iterator[tuple[int, int]]:
    """From one `---` to the next. A file with directives stays whole: they belong to what follows them."""
    start = 0
    if not _DIRECTIVE.search(text):
        for found in _SEPARATOR.finditer(text):
            if found.start() > start:
                yield start, found.start()
            start = found.start()
    yield start, len(text)


def _documents(chunk: str, base: int, budget: Budget) -> Iterator[TreeBuilder]:
    builder = TreeBuilder(budget)
    parser = yaml.CSafeLoader(chunk)
    try:
        while (event := _next_event(parser)) is not None:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                _scalar(builder, event, base + event.start_mark.index)
            elif kind is yaml.MappingStartEvent:
                _check_container(builder, event, base)
                builder.open_mapping(base + event.start_mark.index, event.anchor)
            elif kind is yaml.SequenceStartEvent:
                _check_container(builder, event, base)
                builder.open_list(base + event.start_mark.index, event.anchor)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                builder.close()
            elif kind is yaml.AliasEvent:
                builder.alias(event.anchor, base + event.start_mark.index)
            elif kind is yaml.DocumentEndEvent:
                yield builder
                builder = TreeBuilder(budget)
    finally:
        parser.dispose()


def _next_event(parser: yaml.CSafeLoader) -> Any:
    """Typed loosely: the stubs know neither that events of a file have marks nor which have anchors."""
    return parser.get_event()


def _scalar(builder: TreeBuilder, event: Any, offset: int) -> None:
    text: str = event.value
    if builder.wants_key:
        builder.key(_key(builder, event, offset), offset, event.anchor)
        return
    value: Scalar
    if event.tag is None and event.implicit[0]:
        try:
            value = plain_scalar(text)
        except NumberRefused as refused:
            builder.flaw(
                FileReason.INVALID_NUMBER, offset, f"{refused}: {_short(text)}", "quote it to make it text"
            )
            value = text
    elif event.tag is None:
        value = text
    else:
        value = _tagged(builder, event, offset)
    builder.scalar(value, offset, event.anchor)


def _key(builder: TreeBuilder, event: Any, offset: int) -> Any:
    """The key's text; something else, reported, when YAML reads it as a boolean, a number or null."""
    text: str = event.value
    if event.tag is None and event.implicit[0]:
        if text == "<<":
            return MERGE
        try:
            value = plain_scalar(text)
        except NumberRefused:
            value = None
    else:
        value = text if event.tag is None else _tagged(builder, event, offset)
    if not isinstance(value, str):
        meaning = {bool: "a boolean", type(None): "null"}.get(type(value), "a number")
        builder.flaw(
            FileReason.INVALID_KEY,
            offset,
            f"a key must be text, and YAML reads {_short(text) or 'an empty key'} as {meaning}",
            f'quote it: "{_short(text)}"',
        )
    return value


def _tagged(builder: TreeBuilder, event: Any, offset: int) -> Scalar:
    text: str = event.value
    if event.tag in _TEXT_TAGS:
        return text
    shown = event.tag.replace(_TAG, "!!")
    types = _SCALAR_TAGS.get(event.tag)
    if types is None:
        builder.flaw(
            FileReason.UNSUPPORTED_TAG, offset, f"the tag {shown} is not supported", "remove the tag"
        )
        return text
    try:
        value = plain_scalar(text)
    except NumberRefused:
        value = text
    if type(value) not in types:
        builder.flaw(FileReason.UNSUPPORTED_TAG, offset, f"{_short(text)} is not {shown}", "remove the tag")
    return value


def _check_container(builder: TreeBuilder, event: Any, base: int) -> None:
    if event.tag not in _CONTAINER_TAGS:
        shown = event.tag.replace(_TAG, "!!")
        builder.flaw(
            FileReason.UNSUPPORTED_TAG,
            base + event.start_mark.index,
            f"the tag {shown} is not supported",
            "remove it",
        )


def _syntax_flaw(error: yaml.MarkedYAMLError, start: int, end: int) -> Flaw:
    mark = error.problem_mark or error.context_mark
    message = error.problem or "cannot be read"
    if error.context and error.context_mark and error.context_mark.line != (mark.line if mark else -1):
        message = f"{message} ({error.context} that begins {_lines_above(error)})"
    elif error.context:
        message = f"{message} ({error.context})"
    return _flaw_of(message, min(start + (mark.index if mark else 0), end))


def _lines_above(error: yaml.MarkedYAMLError) -> str:
    above = (
        error.problem_mark.line - error.context_mark.line if error.problem_mark and error.context_mark else 0
    )
    return f"{above} line{'' if above == 1 else 's'} above"


def _flaw_of(message: str, offset: int) -> Flaw:
    fix = next((fix for sign, fix in _FIXES if sign in message), "")
    return Flaw(
        reason=FileReason.INVALID_SYNTAX, offset=offset, message=f"not valid YAML: {message}", fix=fix
    )


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004 - as much as a message has room for
