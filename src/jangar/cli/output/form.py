"""The option --output, and objects in the format that it selects."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from jangar.cli.completions import complete_forms
from jangar.cli.json_text import json_text


class Shape(StrEnum):
    """The output formats."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    JSONPATH = "jsonpath"


PATH = "jsonpath="
FORMS = "table, wide, json, yaml, name or jsonpath=PATH"


@dataclass(frozen=True, slots=True)
class Form:
    """A format; a JSONPath format has a path."""

    shape: Shape
    path: str = ""

    def __str__(self) -> str:
        return f"{self.shape}={self.path}" if self.path else str(self.shape)

    @property
    def is_table(self) -> bool:
        return self.shape in {Shape.TABLE, Shape.WIDE}


def parse_form(text: str | Form) -> Form:
    """Parse the option; raises a usage error that lists the formats. typer passes the default unparsed."""
    if isinstance(text, Form):
        return text
    if text.startswith(PATH):
        return Form(Shape.JSONPATH, text.removeprefix(PATH))
    try:
        shape = Shape(text)
    except ValueError:
        shape = Shape.JSONPATH
    if shape is Shape.JSONPATH:
        raise typer.BadParameter(f"{text!r} is not one of {FORMS}", param_hint="--output")
    return Form(shape)


FormOption = Annotated[
    Form,
    typer.Option(
        "--output",
        "-o",
        parser=parse_form,
        metavar="FORM",
        help=f"Output format: {FORMS}.",
        autocompletion=complete_forms,
    ),
]
TABLE = Form(Shape.TABLE)


def object_lines(form: Form, objects: Sequence[Mapping[str, Any]], *, is_one: bool) -> list[str]:
    """Objects for scripts: one as itself, several as a List."""
    match form.shape:
        case Shape.NAME:
            return [object_name(item) for item in objects]
        case Shape.JSONPATH:
            return _path_lines(form.path, objects[0] if is_one else _list(objects))
        case Shape.YAML:
            from jangar.cli.yaml_text import yaml_text  # noqa: PLC0415 - heavy

            return [yaml_text(objects[0] if is_one else _list(objects)).removeprefix("---\n")]
        case _:
            return [json_text(objects[0] if is_one else _list(objects))]


def object_name(obj: Mapping[str, Any]) -> str:
    """`orchestrationrun.orchestration.proompteng.ai/nightly`, as kubectl writes it."""
    group = obj.get("apiVersion", "").rpartition("/")[0]
    kind = obj.get("kind", "").lower()
    return f"{kind}.{group}/{obj['metadata']['name']}" if group else f"{kind}/{obj['metadata']['name']}"


def _list(objects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def _path_lines(path: str, value: Any) -> list[str]:
    from picokube.schema import JsonPath, JsonPathError  # noqa: PLC0415 - heavy

    try:
        values = JsonPath.of(path).values(value)
    except JsonPathError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from error
    return [item if isinstance(item, str) else json.dumps(item) for item in values]
