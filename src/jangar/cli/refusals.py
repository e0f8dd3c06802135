"""Translates API errors into a message with a next step, and an exit code."""

from typing import Final

from jangar.cli.exit_codes import ExitCode
from jangar.operations.refusals import Refused, Why
from kubekit.client import errors

_UNKNOWN_KIND: Final = "could not find the requested resource"


def refusal(  # noqa: C901, PLR0912 - a case each
    error: Exception, *, is_laptop: bool = False
) -> tuple[str, ExitCode] | None:
    """The message and the exit code; None for an unexpected error."""
    match error:
        case Refused():
            return str(error), ExitCode.NOT_FOUND if error.why is Why.MISSING else ExitCode.FAILED
        case errors.NotSent():
            next_step = (
                "run jangar status to check whether it is up"
                if is_laptop
                else "check --context and the network, or run jangar up to start an API on this machine"
            )
            return f"the API cannot be reached: {error} ({next_step})", ExitCode.UNREACHABLE
        case errors.Ambiguous():
            return (
                f"the API did not answer: {error}; the request may have succeeded: check before retrying",
                (ExitCode.UNREACHABLE),
            )
        case errors.NotFound() if _UNKNOWN_KIND in error.message:
            return (
                "the API does not serve this kind: install the CRDs with jangar crds install",
                ExitCode.NOT_FOUND,
            )
        case errors.NotFound():
            is_run = error.details.get("kind") == "orchestrationruns"
            listing = (
                "run jangar list -A to list all runs"
                if is_run
                else "run jangar get KIND -A to list all objects"
            )
            return f"{error} ({listing})", ExitCode.NOT_FOUND
        case errors.Unauthorized():
            return (
                f"{error}: the API rejected the credentials; check the user of the context",
                ExitCode.UNREACHABLE,
            )
        case errors.Forbidden():
            return f"{error} (ask a cluster administrator for this permission)", ExitCode.FAILED
        case errors.Invalid():
            return _invalid(error), ExitCode.FAILED
        case errors.AlreadyExists():
            return f"{error}: choose another name, or delete it first", ExitCode.FAILED
        case errors.Conflict():
            return f"{error}: the object was modified concurrently; try again", ExitCode.FAILED
        case errors.TooManyRequests() | errors.ServerFailure():
            return f"the API failed: {error}; try again in a moment", ExitCode.FAILED
        case errors.ApiError():
            return str(error), ExitCode.FAILED
        case _:
            return None


def _invalid(error: errors.Invalid) -> str:
    """A line for each field at fault."""
    causes = error.details.get("causes") or ()
    lines = [f"{cause.get('field') or '?'}: {cause.get('message')}" for cause in causes]
    if any("immutable" in line for line in lines):
        lines.append("the field is immutable: delete the object first, or use another name")
    return "\n".join(lines) or str(error)
