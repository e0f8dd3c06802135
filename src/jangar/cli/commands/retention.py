"""`jangar retention`: what will be deleted when, and which value decides (GC-4)."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jangar.cli.target import (
    AllNamespacesOption,
    ContextOption,
    DataDirOption,
    KubeconfigOption,
    NamespaceOption,
    Target,
)
from jangar.cli.terminal import columns, write_error, write_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jangar.cli.asking import Session
    from jangar.kube.client import Obj

EPILOG = """\b
Examples:
  jangar retention
  jangar retention nightly-1

\b
Exit codes: 0 shown, 4 not found, 5 the API cannot be reached."""

HEADS = ("Run", "Phase", "Run deleted", "Decided by", "Jobs deleted", "Decided by")


def retention_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="One run; else all that have ended.")] = "",
    all_namespaces: AllNamespacesOption = False,
    namespace: NamespaceOption = "",
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Show when runs and their Jobs will be deleted, and which value says so."""
    from jangar.cli.asking import ask  # noqa: PLC0415 - heavy
    from jangar.cli.output.table import table  # noqa: PLC0415
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415

    async def work(session: "Session") -> "list[Obj]":
        if run:
            return [await session.client.get(RUNS, run, session.namespace)]
        return await session.client.list(RUNS, None if all_namespaces else session.namespace)

    target = Target(kubeconfig=kubeconfig, context=context, namespace=namespace, data_dir=data_dir)
    found = ask("retention", target, work)
    now = datetime.now(UTC)
    rows = [_row(each, now) for each in found if run or (each.get("status") or {}).get("retention")]
    if rows:
        write_lines(table(HEADS, rows, width=columns() if sys.stdout.isatty() else None))
    else:
        write_error("no run here has ended: how long one is kept is decided when it ends")


def _row(obj: "Mapping[str, Any]", now: datetime) -> list[str]:
    from jangar.domain.retention.documents import retention_from  # noqa: PLC0415 - heavy

    meta, status = obj["metadata"], obj.get("status") or {}
    name, phase = meta["name"], status.get("phase") or "Pending"
    if not status.get("retention"):
        return [name, phase, "not before it ends", "", "not before they end", ""]
    kept = retention_from(status["retention"])
    return [
        name,
        phase,
        _when(kept.run_expires_at, now),
        str(kept.run_source or ""),
        _when(kept.job_expires_at, now),
        str(kept.job_source or ""),
    ]


def _when(moment: datetime | None, now: datetime) -> str:
    from jangar.cli.output.spans import age  # noqa: PLC0415 - not needed for --help
    from jangar.domain.times import rfc3339  # noqa: PLC0415

    if moment is None:
        return "never"
    return f"{rfc3339(moment)} (in {age(now, moment)})" if moment > now else f"{rfc3339(moment)} (due)"
