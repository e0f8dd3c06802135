"""What an API's refusal means for the user: a sentence, what to do next, and the exit code."""

from typing import Final

from jangar.cli.exit_codes import ExitCode
from jangar.server.refusals import Refused, Why
from kubekit.client import errors

_UNKNOWN_KIND: Final = "could not find the requested resource"


def refusal(  # noqa: C901, PLR0912 - a case each
    error: Exception, *, is_laptop: bool = False
) -> tuple[str, ExitCode] | None:
    """None for what is no answer of an API, nor of the one way in."""
    match error:
        case Refused():
            return str(error), ExitCode.NOT_FOUND if error.why is Why.MISSING else ExitCode.FAILED
        case errors.NotSent():
            next_step = (
                "jangar status tells whether it is up"
                if is_laptop
                else "check --context and the network; jangar up starts an API on this machine"
            )
            return f"the API cannot be reached: {error} ({next_step})", ExitCode.UNREACHABLE
        case errors.Ambiguous():
            return f"the API did not answer: {error}; it may have been done: look before you repeat it", (
                ExitCode.UNREACHABLE
            )
        case errors.NotFound() if _UNKNOWN_KIND in error.message:
            return (
                "the API does not serve this kind: install ours with jangar crds | kubectl apply --server-side -f -",
                ExitCode.NOT_FOUND,
            )
        case errors.NotFound():
            is_run = error.details.get("kind") == "orchestrationruns"
            listing = (
                "jangar list -A shows the runs there are"
                if is_run
                else "jangar get KIND -A shows what there is"
            )
            return f"{error} ({listing})", ExitCode.NOT_FOUND
        case errors.Unauthorized():
            return f"{error}: the API does not know you; check the user of the context", ExitCode.UNREACHABLE
        case errors.Forbidden():
            return f"{error} (ask whoever runs the cluster for this right)", ExitCode.FAILED
        case errors.Invalid():
            return _invalid(error), ExitCode.FAILED
        case errors.AlreadyExists():
            return f"{error}: choose another name, or delete it first", ExitCode.FAILED
        case errors.Conflict():
            return f"{error}: it was changed by somebody else meanwhile; try again", ExitCode.FAILED
        case errors.TooManyRequests() | errors.ServerFailure():
            return f"the API is in trouble: {error}; try again in a moment", ExitCode.FAILED
        case errors.ApiError():
            return str(error), ExitCode.FAILED
        case _:
            return None


def _invalid(error: errors.Invalid) -> str:
    """A line for each field at fault."""
    causes = error.details.get("causes") or ()
    lines = [f"{each.get('field') or '?'}: {each.get('message')}" for each in causes]
    if any("immutable" in line for line in lines):
        lines.append("this cannot be changed once it is there: delete it first, or use another name")
    return "\n".join(lines) or str(error)
