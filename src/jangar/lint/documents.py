"""Reads the documents of one file, and the flaws of its text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jangar.lint.json_reader import JsonSyntax, read_json
from jangar.lint.limits import MAX_BYTES, MAX_LINE
from jangar.lint.reasons import FileReason
from jangar.lint.source_positions import Branch, Path, Position, Text
from jangar.lint.tree import Budget, Flaw, TreeBuilder
from jangar.lint.yaml_reader import read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of a file: plain JSON values and their positions."""

    text: Text
    value: Any
    root: Branch
    flaws: tuple[Flaw, ...] = ()

    def position(self, path: Path) -> Position:
        return self.text.position(self.root.offset_of(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """The documents of a file, and the flaws outside of documents."""

    text: Text
    documents: tuple[Document, ...] = ()
    flaws: tuple[Flaw, ...] = ()


def read_documents(data: bytes, *, is_json: bool = False) -> FileContent:
    """Every document of a file. Hostile bytes give flaws, never an exception."""
    refused = _size_flaw(data)
    if refused:
        return FileContent(text=Text(""), flaws=(refused,))
    try:
        content = data.decode()
    except UnicodeDecodeError as error:
        return _not_utf8(data, error)
    text = Text(content.removeprefix("\ufeff"))
    nul = text.text.find("\0")
    if nul >= 0:
        flaw = Flaw(
            reason=FileReason.INVALID_ENCODING,
            offset=nul,
            message="the file holds a NUL character",
            fix="save it as UTF-8 text",
        )
        return FileContent(text=text, flaws=(flaw,))
    documents: list[Document] = []
    flaws: list[Flaw] = []
    for found in _read(text.text, is_json=is_json):
        if isinstance(found, Flaw):
            flaws.append(found)
        elif found.value is not None or found.flaws:
            documents.append(
                Document(
                    text=text, value=found.value, root=found.root or Branch(0, {}), flaws=tuple(found.flaws)
                )
            )
    return FileContent(text=text, documents=tuple(documents), flaws=tuple(flaws))


def _size_flaw(data: bytes) -> Flaw | None:
    if len(data) > MAX_BYTES:
        message = f"the file is larger than {MAX_BYTES // 1024 // 1024} MiB"
        return Flaw(reason=FileReason.TOO_LARGE, offset=0, message=message, fix="split the file")
    start, number = 0, 1
    while len(data) - start > MAX_LINE:
        end = data.rfind(b"\n", start, start + MAX_LINE + 1)
        if end < 0:
            message = f"line {number} is longer than {MAX_LINE // 1024 // 1024} MiB"
            return Flaw(reason=FileReason.TOO_LARGE, offset=0, message=message, fix="break the line")
        number += data.count(b"\n", start, end + 1)
        start = end + 1
    return None


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> FileContent:
    """The text up to the first invalid byte, whose position the flaw names."""
    text = Text(data[: error.start].decode())
    flaw = Flaw(
        reason=FileReason.INVALID_ENCODING,
        offset=len(text.text),
        message=f"the file is not UTF-8: byte 0x{data[error.start]:02x}",
        fix="save it as UTF-8",
    )
    return FileContent(text=text, flaws=(flaw,))


def _read(text: str, *, is_json: bool) -> Iterator[TreeBuilder | Flaw]:
    """Read text that looks like JSON as JSON, with YAML as the fallback, like kubectl."""
    if not is_json and not text.lstrip().startswith(("{", "[")):
        yield from read_yaml(text, Budget())
        return
    found: list[TreeBuilder | Flaw] = []
    try:
        found.extend(read_json(text, Budget()))
    except JsonSyntax as syntax:
        found = [*found, syntax.flaw] if is_json else list(read_yaml(text, Budget()))
    yield from found
