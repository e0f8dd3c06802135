"""`jangar node-agent`: run Jobs, CronJobs and Pods as local processes."""

from pathlib import Path
from typing import Annotated

import typer

EPILOG = """\b
Examples:
  jangar apiserver --data-dir ./data
  jangar node-agent --kubeconfig ./data/kubeconfig
  KUBECONFIG=./data/kubeconfig kubectl create job hello --image=any -- echo hello"""


def node_agent_command(
    kubeconfig: Annotated[
        Path | None,
        typer.Option("--kubeconfig", metavar="FILE", help="Which API; else $KUBECONFIG or ~/.kube/config."),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            metavar="DIR",
            help="The API server's own; else where the kubeconfig is, if it is there.",
        ),
    ] = None,
    context: Annotated[
        str, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig.")
    ] = "",
    node_name: Annotated[
        str, typer.Option("--node-name", metavar="NAME", help="Name of the Node; else the machine's name.")
    ] = "",
    max_pods: Annotated[
        int, typer.Option("--max-pods", metavar="N", min=1, help="Pods at once; the rest waits as Pending.")
    ] = 110,
    keep_logs_seconds: Annotated[
        float,
        typer.Option(
            "--keep-logs-seconds", metavar="SECONDS", min=0, help="How long logs outlive their pod."
        ),
    ] = 60.0,
    map_paths: Annotated[
        bool,
        typer.Option("--map-paths", help="Never use a mount namespace: replace mount paths in commands."),
    ] = False,
) -> None:
    """Run Jobs, CronJobs and Pods as local processes.

    Images are ignored: a container runs its command on this machine, as the user who started the agent.
    Stopping the agent stops no container; the next one finds them again.
    """
    import uvloop  # noqa: PLC0415 - heavy, and needed by this command alone

    from jangar.cli.process_errors import errors_as_sentences  # noqa: PLC0415
    from jangar.processes.node_agent import NodeAgentProcess, serve  # noqa: PLC0415
    from jangar.telemetry.logs import configure_logs  # noqa: PLC0415
    from kubekit.serving.connection_limits import raise_descriptor_limit  # noqa: PLC0415

    if data_dir is None:
        beside = kubeconfig.parent if kubeconfig is not None else None
        if beside is None or not (beside / "objects.db").exists():
            raise typer.BadParameter(
                "name the directory that `jangar apiserver` was given", param_hint="--data-dir"
            )
        data_dir = beside
    settings = NodeAgentProcess(
        data_dir=data_dir,
        kubeconfig=kubeconfig,
        context=context,
        node_name=node_name,
        max_pods=max_pods,
        keep_logs_seconds=keep_logs_seconds,
        mount_namespaces=not map_paths,
    )
    with errors_as_sentences("node-agent"):
        raise_descriptor_limit()
        configure_logs()
        uvloop.run(serve(settings))
