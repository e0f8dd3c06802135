"""`jangar apply`: what some files hold, brought to an API."""

from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.target import Target, with_api_options
from jangar.cli.terminal import write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session

EPILOG = """\b
Examples:
  jangar apply -f nightly.yaml
  jangar apply -f charts/agents/examples -n trial
  helm template my-chart | jangar apply -f -

\b
Exit codes: 0 applied, 1 rejected, 2 a file cannot be read, 5 the API cannot be reached."""

FilesOption = Annotated[
    list[str],
    typer.Option("--filename", "-f", metavar="FILE|DIR|-", help="Manifests; repeatable."),
]


@with_api_options
def apply_command(
    files: FilesOption,
    no_lint: Annotated[
        bool, typer.Option("--no-lint", help="Skip the lint checks; the API still validates.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force-conflicts", help="Take over fields owned by other managers.")
    ] = False,
    *,
    target: Target,
) -> None:
    """Create or update the objects in manifests.

    All manifests are checked first, as jangar lint does: if one has a problem, nothing is sent. Uses server-side apply,
    like kubectl apply --server-side.
    """
    from jangar.cli.api_session import ask  # noqa: PLC0415
    from jangar.cli.applying import applied  # noqa: PLC0415 - heavy
    from jangar.cli.manifests import read_objects  # noqa: PLC0415

    async def work(session: "Session") -> None:
        for obj in read_objects(files, checked=not no_lint):
            write_lines([await applied(session, dict(obj), force=force)])

    ask("apply", target, work)
