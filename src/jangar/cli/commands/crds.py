"""`jangar crds`: the CustomResourceDefinitions of every kind, shown or installed."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, assert_never

import typer

from jangar.cli.terminal import write_lines


class CrdFormat(StrEnum):
    """How the definitions are shown."""

    YAML = "yaml"
    JSON = "json"
    NAME = "name"


class CrdAction(StrEnum):
    """What is done with the definitions."""

    SHOW = "show"
    INSTALL = "install"


EPILOG = """\b
Examples:
  jangar crds | kubectl apply --server-side -f -
  jangar crds install --context my-cluster
  jangar crds -o name"""


def crds_command(
    action: Annotated[
        CrdAction,
        typer.Argument(help="install creates or updates the CRDs and waits until they are served."),
    ] = CrdAction.SHOW,
    output: Annotated[CrdFormat, typer.Option("--output", "-o", help="Output format.")] = CrdFormat.YAML,
    context: Annotated[str, typer.Option("--context", help="Kubeconfig context to install to.")] = "",
    kubeconfig: Annotated[Path | None, typer.Option("--kubeconfig", help="Kubeconfig to install to.")] = None,
) -> None:
    """Print the CRDs of every kind, or install them."""
    if action is CrdAction.INSTALL:
        from jangar.cli.crd_installation import install_crds  # noqa: PLC0415 - heavy

        install_crds(kubeconfig=kubeconfig, context=context)
        return
    from jangar.cli.json_text import json_text  # noqa: PLC0415 - heavy
    from jangar.cli.yaml_text import yaml_text  # noqa: PLC0415
    from jangar.crdgen.crd import crds  # noqa: PLC0415

    found = crds()
    match output:
        case CrdFormat.YAML:
            write_lines(yaml_text(item) for item in found)
        case CrdFormat.JSON:
            write_lines([json_text({"apiVersion": "v1", "kind": "List", "items": found})])
        case CrdFormat.NAME:
            write_lines(item["metadata"]["name"] for item in found)
        case _:
            assert_never(output)
