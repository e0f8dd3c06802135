"""`jangar list`: runs, newest last, filtered and followed."""

import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.completions import complete_phases
from jangar.cli.output.form import TABLE, Form, FormOption, Shape
from jangar.cli.output.spans import parse_span
from jangar.cli.target import AllNamespacesOption, SelectorOption, Target, with_api_options
from jangar.cli.terminal import columns, has_color, write_error, write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.runs.listing import Filter
    from kubekit.client.api_client import Obj

EPILOG = """\b
Examples:
  jangar list
  jangar list --phase Failed --phase Cancelled --since 2d
  jangar list -A -l team=data --watch
  jangar list --children -o wide
  jangar list -o name --phase Running

\b
Exit codes: 0 done, 2 wrong usage, 5 the API cannot be reached."""


@with_api_options
def list_command(
    phases: Annotated[
        list[str] | None,
        typer.Option(
            "--phase",
            metavar="PHASE",
            help="Only runs in this phase; repeatable.",
            autocompletion=complete_phases,
        ),
    ] = None,
    labels: SelectorOption = "",
    since: Annotated[
        timedelta | None,
        typer.Option(
            "--since",
            parser=parse_span,
            metavar="AGE",
            help="Only runs created within this time: 30m, 12h, 7d.",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Keep running and print a line for each change.")
    ] = False,
    children: Annotated[bool, typer.Option("--children", help="Include nested runs.")] = False,
    output: FormOption = TABLE,
    all_namespaces: AllNamespacesOption = False,
    *,
    target: Target,
) -> None:
    """List runs, newest last.

    Nested runs are omitted unless you pass --children. On a terminal, long values are shortened to fit; -o wide
    shows them in full.
    """
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.output.form import object_lines  # noqa: PLC0415
    from jangar.cli.runs.listing import Filter, row_of  # noqa: PLC0415
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415

    asked = Filter(phases=frozenset(_phase(phase) for phase in phases or ()), since=since, children=children)
    if watch and not output.is_table:
        raise typer.BadParameter("--watch supports only table output", param_hint="--output")

    async def work(session: "Session") -> "tuple[list[Obj], str]":
        place = None if all_namespaces else session.namespace
        if watch:
            await _follow(session, place, labels, asked, output)
        return await session.client.list(RUNS, place, labels=labels), place or "any namespace"

    found, place = ask("list", target, work)
    now = datetime.now(UTC)
    shown = sorted(
        (item for item in found if asked.matches(item, row_of(item, now), now)),
        key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"]),
    )
    if not output.is_table:
        write_lines(object_lines(output, shown, is_one=False))
    elif shown:
        _show(shown, output, now, spread=all_namespaces)
    else:
        others = f" match ({len(found)} others exist)" if found else ""
        write_error(f"no runs in {place}{others}")


def _phase(text: str) -> "Phase":  # type: ignore[name-defined] # noqa: F821
    from jangar.api.phases import Phase  # noqa: PLC0415 - not needed for --help

    found = next((item for item in Phase if item.lower() == text.lower()), None)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(Phase)}", param_hint="--phase")
    return found


def _show(shown: "list[Obj]", output: Form, now: datetime, *, spread: bool) -> None:
    from jangar.cli.output.table import table  # noqa: PLC0415 - not needed for --help
    from jangar.cli.runs.listing import OPTIONAL, cells, heads_of  # noqa: PLC0415

    is_wide = output.shape is Shape.WIDE
    rows = [cells(item, now, wide=is_wide, spread=spread) for item in shown]
    heads = heads_of(wide=is_wide, spread=spread)
    write_lines(table(heads, rows, width=_width(output), color=has_color(sys.stdout), optional=OPTIONAL))


def _width(output: Form) -> int | None:
    return columns() if sys.stdout.isatty() and output.shape is not Shape.WIDE else None


async def _follow(session: "Session", place: str | None, labels: str, asked: "Filter", output: Form) -> None:
    """Lines as runs change, until Ctrl-C. The columns stay where they are, whatever comes."""
    from jangar.cli.output.table import cleaned, fit  # noqa: PLC0415 - heavy
    from jangar.cli.runs.listing import (  # noqa: PLC0415
        OPTIONAL,
        TYPICAL,
        cells,
        heads_of,
        row_of,
    )
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415
    from jangar.cli.runs.waiting import changes  # noqa: PLC0415

    is_wide, spread = output.shape is Shape.WIDE, place is None
    heads, now = heads_of(wide=is_wide, spread=spread), datetime.now(UTC)
    first = [
        cleaned(cells(item, now, wide=is_wide, spread=spread))
        for item in await session.client.list(RUNS, place, labels=labels)
        if asked.matches(item, row_of(item, now), now)
    ]
    typical = [TYPICAL.get(head, "") for head in heads]
    layout = fit(heads, [*first, typical], width=_width(output), optional=OPTIONAL)
    write_lines(layout.lines([head.upper() for head in heads]))
    reported: dict[str, tuple[str, ...]] = {}
    async for kind, obj in changes(session.client, RUNS, place, labels=labels):
        now = datetime.now(UTC)
        row = row_of(obj, now)
        if not asked.matches(obj, row, now):
            continue
        shown = cells(obj, now, wide=is_wide, spread=spread)
        if kind == "DELETED":
            shown[1 + spread] = "(deleted)"
        said = (shown[1 + spread], shown[2 + spread], shown[heads.index("Reason")])
        if reported.get(row.uid) != said:
            reported[row.uid] = said
            write_lines(layout.lines(cleaned(shown), color=has_color(sys.stdout)))
