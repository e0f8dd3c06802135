"""`jangar apply`: what some files hold, brought to an API."""

from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.target import Target, asks_an_api
from jangar.cli.terminal import write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session

EPILOG = """\b
Examples:
  jangar apply -f nightly.yaml
  jangar apply -f charts/agents/examples -n trial
  helm template my-chart | jangar apply -f -

\b
Exit codes: 0 applied, 1 refused, 2 a file cannot be read, 5 the API cannot be reached."""

FilesOption = Annotated[
    list[str],
    typer.Option("--filename", "-f", metavar="FILE|DIR|-", help="Manifests; may be repeated."),
]


@asks_an_api
def apply_command(
    files: FilesOption,
    no_lint: Annotated[bool, typer.Option("--no-lint", help="Leave checking to the API.")] = False,
    force: Annotated[
        bool, typer.Option("--force-conflicts", help="Take over fields that others wrote.")
    ] = False,
    *,
    target: Target,
) -> None:
    """Create what manifests hold, or bring it up to date.

    They are checked first as jangar lint does: with a problem in one nothing is sent. Fields are owned by server-side
    apply, as with kubectl apply --server-side.
    """
    from jangar.cli.api_session import ask  # noqa: PLC0415
    from jangar.cli.applying import applied  # noqa: PLC0415 - heavy
    from jangar.cli.manifests import read_objects  # noqa: PLC0415

    async def work(session: "Session") -> None:
        for obj in read_objects(files, checked=not no_lint):
            write_lines([await applied(session, dict(obj), force=force)])

    ask("apply", target, work)
