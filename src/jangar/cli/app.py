"""The commands and what `jangar --help` says. Help is plain text: the styled one would take twice the time."""

from typing import Annotated, Final

import typer

from jangar import __version__
from jangar.cli.commands import (
    history,
    installation,
    laptop,
    list_runs,
    manifests,
    objects,
    processes,
    run,
    run_control,
    show_run,
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

COMMANDS: Final = (
    ("run", run.run_command, run.RUN_EPILOG),
    ("watch", run.watch_command, run.WATCH_EPILOG),
    ("up", laptop.up_command, laptop.UP_EPILOG),
    ("down", laptop.down_command, laptop.DOWN_EPILOG),
    ("status", laptop.status_command, laptop.STATUS_EPILOG),
    ("logs", show_run.logs_command, show_run.LOGS_EPILOG),
    ("kubeconfig", laptop.kubeconfig_command, laptop.KUBECONFIG_EPILOG),
    ("apply", objects.apply_command, objects.APPLY_EPILOG),
    ("delete", objects.delete_command, objects.DELETE_EPILOG),
    ("get", objects.get_command, objects.GET_EPILOG),
    ("list", list_runs.list_command, list_runs.LIST_EPILOG),
    ("describe", show_run.describe_command, show_run.DESCRIBE_EPILOG),
    ("explain", show_run.explain_command, show_run.EXPLAIN_EPILOG),
    ("cancel", run_control.cancel_command, run_control.CANCEL_EPILOG),
    ("suspend", run_control.suspend_command, run_control.SUSPEND_EPILOG),
    ("resume", run_control.resume_command, run_control.RESUME_EPILOG),
    ("retry", run_control.retry_command, run_control.RETRY_EPILOG),
    ("resubmit", run_control.resubmit_command, run_control.RESUBMIT_EPILOG),
    ("retention", list_runs.retention_command, list_runs.RETENTION_EPILOG),
    ("history", history.history_command, history.EPILOG),
    ("release-finalizers", objects.release_finalizers_command, objects.RELEASE_EPILOG),
    ("doctor", installation.doctor_command, installation.DOCTOR_EPILOG),
    ("lint", manifests.lint_command, manifests.LINT_EPILOG),
    ("graph", manifests.graph_command, manifests.GRAPH_EPILOG),
    ("crds", objects.crds_command, objects.CRDS_EPILOG),
    ("apiserver", processes.apiserver_command, processes.APISERVER_EPILOG),
    ("controllers", processes.controllers_command, processes.CONTROLLERS_EPILOG),
    ("control-plane", processes.control_plane_command, processes.CONTROL_PLANE_EPILOG),
    ("node-agent", processes.node_agent_command, processes.NODE_AGENT_EPILOG),
    ("runner", processes.runner_command, processes.RUNNER_EPILOG),
    ("completion", installation.completion_command, installation.COMPLETION_EPILOG),
    ("version", installation.version_command, installation.VERSION_EPILOG),
)
"""Name, function and epilog of each command, in the order of the help."""

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


for _name, _command, _epilog in COMMANDS:
    app.command(_name, epilog=_epilog)(_command)
