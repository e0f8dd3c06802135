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
        typer.Option(
            "--kubeconfig", metavar="FILE", help="Kubeconfig to use (default: $KUBECONFIG or ~/.kube/config)."
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            metavar="DIR",
            help="Data directory of the API server (default: that of the kubeconfig).",
        ),
    ] = None,
    context: Annotated[str, typer.Option("--context", metavar="NAME", help="Kubeconfig context.")] = "",
    node_name: Annotated[
        str, typer.Option("--node-name", metavar="NAME", help="Name of the Node (default: the hostname).")
    ] = "",
    max_pods: Annotated[
        int,
        typer.Option(
            "--max-pods", metavar="N", min=1, help="Maximum number of running pods; others stay Pending."
        ),
    ] = 110,
    keep_logs_seconds: Annotated[
        float,
        typer.Option(
            "--keep-logs-seconds",
            metavar="SECONDS",
            min=0,
            help="How long to keep logs after their pod is deleted.",
        ),
    ] = 60.0,
    map_paths: Annotated[
        bool,
        typer.Option(
            "--map-paths", help="Rewrite mount paths in commands instead of using mount namespaces."
        ),
    ] = False,
) -> None:
    """Run Jobs, CronJobs and Pods as local processes.

    Images are ignored: a container runs its command on this machine, as the user who started the agent.
    Containers keep running when the agent stops; the next agent re-adopts them.
    """
    import uvloop  # noqa: PLC0415 - heavy, and needed by this command alone

    from jangar.cli.process_errors import report_process_errors  # noqa: PLC0415
    from jangar.processes.embedded_kubernetes import NodeAgentProcess, run_node_agent  # noqa: PLC0415
    from jangar.processes.lifecycle import configure_logs  # noqa: PLC0415
    from kubekit.serving.connection_limits import raise_descriptor_limit  # noqa: PLC0415

    if data_dir is None:
        beside = kubeconfig.parent if kubeconfig is not None else None
        if beside is None or not (beside / "objects.db").exists():
            raise typer.BadParameter("pass the data directory of `jangar apiserver`", param_hint="--data-dir")
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
    with report_process_errors("node-agent"):
        raise_descriptor_limit()
        configure_logs()
        uvloop.run(run_node_agent(settings))
