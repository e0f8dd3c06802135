"""`/healthz`, `/livez`, `/readyz` and their single checks, as plain text. What answers at all is healthy."""

from typing import Final

from picokube.apiserver.messages import Request, Response, text_response

_CHECKS: Final = ("ping", "log", "etcd")
_PATHS: Final = {
    "/healthz": _CHECKS,
    "/livez": _CHECKS,
    "/readyz": (*_CHECKS, "shutdown"),
}


def health(request: Request) -> Response | None:
    """The answer to a question about health; None for another path."""
    checks = _PATHS.get(request.path)
    if checks is not None:
        return text_response(_report(request, checks) if "verbose" in request.query else "ok")
    path, _, check = request.path.rpartition("/")
    return text_response("ok") if check in _PATHS.get(path, ()) else None


def _report(request: Request, checks: tuple[str, ...]) -> str:
    excluded = set(request.query.get("exclude") or ())
    lines = [f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok" for name in checks]
    if unknown := sorted(excluded - set(checks)):
        shown = ", ".join(f'"{item}"' for item in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {shown}")
    return "\n".join([*lines, f"{request.path.removeprefix('/')} check passed", ""])
