"""The options of a write, from the query and the headers: dry run, field manager, field validation."""

from dataclasses import dataclass

from jangar.apiserver import errors
from jangar.apiserver.messages import Request

STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"
MANAGER_LENGTH = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """How a write is to be done."""

    manager: str
    dry_run: bool = False
    validation: str = WARN
    force: bool = False


def write_options(request: Request, *, kind: str = "CreateOptions") -> WriteOptions:
    """Raises for values that Kubernetes refuses."""
    dry_run = request.query.get("dryRun") or ()
    problems = [
        f'dryRun: Unsupported value: "{each}": supported values: "All"'
        for each in dry_run
        if each not in ("All", "")
    ]
    validation = request.parameter("fieldValidation") or WARN
    if validation not in (STRICT, WARN, IGNORE):
        problems.append(
            f'fieldValidation: Unsupported value: "{validation}": supported values: "Ignore", "Strict", "Warn"'
        )
    manager = request.parameter("fieldManager") or ""
    if len(manager) > MANAGER_LENGTH:
        problems.append(f"fieldManager: Too long: may not be more than {MANAGER_LENGTH} bytes")
    if problems:
        shown = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise errors.ApiError(
            422,
            "Invalid",
            f'{kind}.meta.k8s.io "" is invalid: {shown}',
            details={"group": "meta.k8s.io", "kind": kind},
        )
    return WriteOptions(
        manager=manager or manager_of(request.headers.get("user-agent", "")),
        dry_run="All" in dry_run,
        validation=validation,
        force=request.flag("force"),
    )


def manager_of(user_agent: str) -> str:
    """Who writes, if they do not say: the first word of their user agent."""
    return user_agent.split("/", 1)[0][:MANAGER_LENGTH] or "unknown"
