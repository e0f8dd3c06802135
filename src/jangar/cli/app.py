"""The commands and what `jangar --help` says. Help is plain text: the styled one would take twice the time."""

from typing import Annotated

import typer

from jangar import __version__
from jangar.cli.commands import (
    apiserver,
    apply,
    completion,
    control_plane,
    controllers,
    crds,
    delete,
    describe,
    doctor,
    down,
    explain,
    get,
    graph,
    history,
    kubeconfig,
    lint,
    list_runs,
    logs,
    node_agent,
    release_finalizers,
    retention,
    run,
    runner,
    status,
    steer,
    up,
    version,
    watch,
)
from jangar.cli.terminal import write_lines

_EPILOG = """\b
Examples:
  jangar run hello.yaml
  jangar up --detach
  jangar apply -f nightly.yaml
  jangar list --watch
  jangar explain nightly-1
  jangar lint charts/agents/examples
  jangar graph nightly.yaml
  jangar crds | kubectl apply --server-side -f -

\b
Exit codes:
  0    success
  1    failed, or problems were found
  2    wrong usage, or a file cannot be read
  3    the run was cancelled
  4    not found
  5    the API cannot be reached
  124  timed out
  130  interrupted by Ctrl-C"""

app = typer.Typer(
    name="jangar",
    help="Run DAGs of AI agents and tools, on a laptop and on Kubernetes.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        write_lines([f"jangar {__version__}"])
        raise typer.Exit


@app.callback()
def _jangar(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


app.command("run", epilog=run.EPILOG)(run.run_command)
app.command("watch", epilog=watch.EPILOG)(watch.watch_command)
app.command("up", epilog=up.EPILOG)(up.up_command)
app.command("down", epilog=down.EPILOG)(down.down_command)
app.command("status", epilog=status.EPILOG)(status.status_command)
app.command("logs", epilog=logs.EPILOG)(logs.logs_command)
app.command("kubeconfig", epilog=kubeconfig.EPILOG)(kubeconfig.kubeconfig_command)
app.command("apply", epilog=apply.EPILOG)(apply.apply_command)
app.command("delete", epilog=delete.EPILOG)(delete.delete_command)
app.command("get", epilog=get.EPILOG)(get.get_command)
app.command("list", epilog=list_runs.EPILOG)(list_runs.list_command)
app.command("describe", epilog=describe.EPILOG)(describe.describe_command)
app.command("explain", epilog=explain.EPILOG)(explain.explain_command)
app.command("cancel", epilog=steer.CANCEL_EPILOG)(steer.cancel_command)
app.command("suspend", epilog=steer.SUSPEND_EPILOG)(steer.suspend_command)
app.command("resume", epilog=steer.RESUME_EPILOG)(steer.resume_command)
app.command("retry", epilog=steer.RETRY_EPILOG)(steer.retry_command)
app.command("resubmit", epilog=steer.RESUBMIT_EPILOG)(steer.resubmit_command)
app.command("retention", epilog=retention.EPILOG)(retention.retention_command)
app.command("history", epilog=history.EPILOG)(history.history_command)
app.command("release-finalizers", epilog=release_finalizers.EPILOG)(
    release_finalizers.release_finalizers_command
)
app.command("doctor", epilog=doctor.EPILOG)(doctor.doctor_command)
app.command("lint", epilog=lint.EPILOG)(lint.lint_command)
app.command("graph", epilog=graph.EPILOG)(graph.graph_command)
app.command("crds", epilog=crds.EPILOG)(crds.crds_command)
app.command("apiserver", epilog=apiserver.EPILOG)(apiserver.apiserver_command)
app.command("controllers", epilog=controllers.EPILOG)(controllers.controllers_command)
app.command("control-plane", epilog=control_plane.EPILOG)(control_plane.control_plane_command)
app.command("node-agent", epilog=node_agent.EPILOG)(node_agent.node_agent_command)
app.command("runner", epilog=runner.EPILOG)(runner.runner_command)
app.command("completion", epilog=completion.EPILOG)(completion.completion_command)
app.command("version", epilog=version.EPILOG)(version.version_command)
