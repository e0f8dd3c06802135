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
  that of the command; 128 and the number of the signal that ended it
  1    there was nothing to run, or a file could not be written
  126  the command cannot be executed
  127  the command was not found"""


def runner_command(
    spec: Annotated[
        Path | None,
        typer.Argument(
            help="The agent-runner.json; else $AGENT_RUNNER_SPEC_PATH or /workspace/agent-runner.json."
        ),
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="The command to run instead of the spec's."),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option("--root", help="The work's directory; else $AGENT_WORKSPACE, /workspace or this one."),
    ] = None,
    grace: Annotated[
        float | None, typer.Option("--grace", min=0, help="Seconds from TERM to KILL; 25 if nobody says.")
    ] = None,
) -> None:
    """Run an agent's command in its container, and report its end.

    Writes the input files, gives the command a clean environment, passes its output on line by line, stops its whole
    process group on TERM, and reports outputs, usage and artifacts as the pod's termination message.
    """
    from jangar.runner.process import Asked, run  # noqa: PLC0415 - not needed for --help

    asked = Asked(spec=spec, root=root, grace=grace, command=tuple(command or ()))
    raise typer.Exit(run(asked, os.environ))
