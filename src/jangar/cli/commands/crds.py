"""`jangar crds`: the CustomResourceDefinitions of every kind."""

from enum import StrEnum
from typing import Annotated, assert_never

import typer

from jangar.cli.terminal import write_lines


class CrdFormat(StrEnum):
    """How the definitions are shown."""

    YAML = "yaml"
    JSON = "json"
    NAME = "name"


EPILOG = """\b
Examples:
  jangar crds | kubectl apply --server-side -f -
  jangar crds -o name"""


def crds_command(
    output: Annotated[CrdFormat, typer.Option("--output", "-o", help="How to show them.")] = CrdFormat.YAML,
) -> None:
    """Print the CRDs of every kind, for kubectl."""
    from jangar.cli.json_text import json_text  # noqa: PLC0415 - heavy
    from jangar.cli.yaml_text import yaml_text  # noqa: PLC0415
    from jangar.crdgen.crd import crds  # noqa: PLC0415

    found = crds()
    match output:
        case CrdFormat.YAML:
            write_lines(yaml_text(each) for each in found)
        case CrdFormat.JSON:
            write_lines([json_text({"apiVersion": "v1", "kind": "List", "items": found})])
        case CrdFormat.NAME:
            write_lines(each["metadata"]["name"] for each in found)
        case _:
            assert_never(output)
