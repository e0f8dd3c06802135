"""`jangar get`: objects of any kind."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.completions import complete_kinds, complete_names
from jangar.cli.output.form import TABLE, Form, FormOption, Shape
from jangar.cli.target import AllNamespacesOption, SelectorOption, Target, with_api_options
from jangar.cli.terminal import columns, has_color, write_error, write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Obj
    from kubekit.client.resource import Resource

EPILOG = """\b
Examples:
  jangar get runs
  jangar get orchestrations -A -o wide
  jangar get toolrun build-1 -o yaml
  jangar get run nightly-1 -o jsonpath={.status.phase}

\b
Exit codes: 0 found, 4 no such object or kind, 5 the API cannot be reached."""

WORDS = {"run": "orchestrationruns", "runs": "orchestrationruns"}


@with_api_options
def get_command(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="runs, orchestrations, tools, pods, ...", autocompletion=complete_kinds
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Names of the objects (default: all).", autocompletion=complete_names
        ),
    ] = None,
    output: FormOption = TABLE,
    labels: SelectorOption = "",
    all_namespaces: AllNamespacesOption = False,
    *,
    target: Target,
) -> None:
    """Show objects of a kind."""
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.output.form import object_lines  # noqa: PLC0415
    from jangar.cli.served_kinds import resource_named  # noqa: PLC0415

    async def work(session: "Session") -> "tuple[Resource, list[Obj], str]":
        resource = await resource_named(session, WORDS.get(kind, kind))
        place = None if all_namespaces or not resource.namespaced else session.namespace
        if names:
            return resource, [await session.client.get(resource, name, place) for name in names], place or ""
        return resource, await session.client.list(resource, place, labels=labels), place or ""

    if names and all_namespaces:
        raise typer.BadParameter("names require a single namespace: omit -A", param_hint="-A")
    resource, found, place = ask("get", target, work)
    if not output.is_table:
        write_lines(object_lines(output, found, is_one=len(names or ()) == 1))
    elif found:
        _show(resource, found, output, spread=all_namespaces)
    else:
        write_error(f"no {resource.plural} in {place or 'any namespace'}")


def _show(resource: "Resource", found: "list[Obj]", output: Form, *, spread: bool) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415 - not needed for --help

    from jangar.cli.object_table import object_rows  # noqa: PLC0415
    from jangar.cli.output.table import table  # noqa: PLC0415

    is_wide = output.shape is Shape.WIDE
    heads, rows = object_rows(resource, found, datetime.now(UTC), wide=is_wide, spread=spread)
    width = columns() if sys.stdout.isatty() and not is_wide else None
    optional = heads[-2:1:-1]
    write_lines(table(heads, rows, width=width, color=has_color(sys.stdout), optional=optional))
