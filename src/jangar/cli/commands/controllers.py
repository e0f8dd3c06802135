"""`jangar controllers`: run orchestrations on a Kubernetes API."""

from pathlib import Path
from typing import Annotated

import typer

EPILOG = """\b
Examples:
  jangar controllers --kubeconfig ./data/kubeconfig -n default
  jangar controllers --context staging -n team-a,team-b
  JANGAR_ORCHESTRATION_CONTROLLER_NAMESPACES='*' jangar controllers"""


def controllers_command(
    kubeconfig: Annotated[
        Path | None,
        typer.Option("--kubeconfig", help="Which API; else $KUBECONFIG, ~/.kube/config, or the pod's own."),
    ] = None,
    context: Annotated[
        str, typer.Option("--context", help="Context of the kubeconfig; else the current one.")
    ] = "",
    namespaces: Annotated[
        str,
        typer.Option(
            "-n", "--namespace", help="Namespaces by comma, or '*'; else what the environment says."
        ),
    ] = "",
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Where the last lines of logs are kept; else nowhere.")
    ] = None,
) -> None:
    """Run orchestrations on a Kubernetes API, as one of any number of such processes.

    Settings come from the environment (JANGAR_*). Stopping it stops no work.
    """
    import uvloop  # noqa: PLC0415 - heavy, and needed by this command alone

    from jangar.cli.exit_codes import ExitCode  # noqa: PLC0415
    from jangar.cli.terminal import write_error  # noqa: PLC0415
    from jangar.kube.connection import NoConnection  # noqa: PLC0415
    from jangar.kube.namespaces import BadNamespaces, Namespaces  # noqa: PLC0415
    from jangar.processes.controllers import Where, run_controllers  # noqa: PLC0415
    from jangar.settings.controllers import BadSettings  # noqa: PLC0415
    from jangar.telemetry.logs import configure_logs  # noqa: PLC0415

    try:
        where = Where(
            kubeconfig=kubeconfig,
            context=context,
            namespaces=Namespaces.parse(namespaces) if namespaces else None,
            data_dir=data_dir,
        )
        configure_logs()
        uvloop.run(run_controllers(where))
    except (BadSettings, BadNamespaces, NoConnection) as error:
        write_error(f"jangar controllers: {error}")
        unreachable = isinstance(error, NoConnection)
        raise typer.Exit(ExitCode.UNREACHABLE if unreachable else ExitCode.USAGE) from None
