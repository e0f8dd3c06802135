"""Who may do what: whoever is known may do everything, whoever is not may see that the server is alive.

Roles and bindings are stored, not enforced: everybody who holds a token of this server is its owner.
"""

from jangar.apiserver.errors import ApiError
from jangar.apiserver.messages import ANONYMOUS, Request
from jangar.apiserver.target import Target

OPEN_PATHS = frozenset({"/livez", "/readyz", "/healthz", "/version"})


def check_path(request: Request) -> None:
    """Refuses strangers a path that names no resource."""
    if request.user is ANONYMOUS and request.path not in OPEN_PATHS:
        verb = request.method.lower()
        message = f'forbidden: User "{request.user.name}" cannot {verb} path "{request.path}"'
        raise ApiError(403, "Forbidden", message, details={})


def check_resource(request: Request, target: Target, verb: str) -> None:
    """Refuses strangers a resource."""
    if request.user is not ANONYMOUS:
        return
    place = f' in the namespace "{target.namespace}"' if target.namespace else " at the cluster scope"
    plural = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
    why = f'User "{request.user.name}" cannot {verb} resource "{plural}" in API group "{target.group}"{place}'
    qualified = f"{target.resource}.{target.group}" if target.group else target.resource
    named = f'{qualified} "{target.name}"' if target.name else qualified
    details = {"name": target.name, "group": target.group, "kind": target.resource}
    raise ApiError(
        403,
        "Forbidden",
        f"{named} is forbidden: {why}",
        details={name: value for name, value in details.items() if value},
    )
