"""`jangar runner`: run an agent's command in its container.

`main` starts it without this module, which knows the help and what is wrong with a command line.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

EPILOG = """\b
Examples:
  jangar runner
  jangar runner /workspace/agent-runner.json
  jangar runner --root . -- echo hello

\b
Exit codes:
  the command's own; 128 plus the signal number if a signal ended it
  1    there is no command, or a file could not be written
  126  the command cannot be executed
  127  the command was not found"""


def runner_command(
    spec: Annotated[
        Path | None,
        typer.Argument(
            help="Runner spec (default: $AGENT_RUNNER_SPEC_PATH or /workspace/agent-runner.json)."
        ),
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="Command to run instead of the one in the spec."),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root", help="Workspace (default: $AGENT_WORKSPACE, /workspace or the current directory)."
        ),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option("--grace", min=0, help="Grace period before SIGKILL, in seconds (default: 25)."),
    ] = None,
) -> None:
    """Run an agent's command in its container and report the result.

    Writes the input files, runs the command in a clean environment, forwards its output line by line, stops its process
    group on SIGTERM, and reports outputs, usage and artifacts in the pod's termination message.
    """
    from jangar.runner.process import RunnerOptions, run  # noqa: PLC0415 - not needed for --help

    options = RunnerOptions(spec=spec, root=root, grace=grace, command=tuple(command or ()))
    raise typer.Exit(run(options, os.environ))
