"""Why the runner does not start a command."""


class RunnerProblem(Exception):
    """Told to the user as it stands; no command was started."""
