"""Environment variables that only `jangar control-plane` reads."""

from datetime import timedelta

from jangar.domain.retention import Keep
from jangar.settings import forms
from jangar.settings.forms import Form
from jangar.settings.variable import Process, Variable

_PROCESSES = frozenset({Process.CONTROL_PLANE})


def _text(
    name: str, description: str, *, default: str = "", helm_value: str = "", is_secret: bool = False
) -> Variable[str]:
    return Variable(
        name=name,
        form=forms.text(),
        default=default,
        shown_default=default,
        helm_value=helm_value or f"env.vars.{name}",
        processes=_PROCESSES,
        description=description,
        is_secret=is_secret,
    )


def _list(
    name: str, description: str, *, items: str = "strings", helm_value: str = ""
) -> Variable[tuple[str, ...]]:
    form: Form[tuple[str, ...]] = forms.list_of(items, str)
    return Variable(
        name=name,
        form=form,
        default=(),
        shown_default="",
        helm_value=helm_value or f"env.vars.{name}",
        processes=_PROCESSES,
        description=description,
    )


HOST = _text("JANGAR_CONTROL_PLANE_HOST", "Address to listen on; --host overrides it.", default="127.0.0.1")
PORT: Variable[int] = Variable(
    name="PORT",
    form=forms.integer(minimum=0, maximum=65535),
    default=8080,
    shown_default="8080",
    helm_value="env.vars.PORT",
    processes=_PROCESSES,
    description="Port to listen on; --port overrides it.",
)
ALLOWED_HOSTS = _list(
    "JANGAR_CONTROL_PLANE_ALLOWED_HOSTS",
    "Accept only requests with these Host headers, including the port. Unset accepts any: callers authenticate with "
    "tokens, not cookies.",
)
ALLOWED_ORIGINS = _list(
    "JANGAR_CONTROL_PLANE_ALLOWED_ORIGINS",
    "Accept write requests from pages of these additional origins; --allowed-origins overrides it.",
)
ACCESS_LOG: Variable[bool] = Variable(
    name="JANGAR_CONTROL_PLANE_ACCESS_LOG",
    form=forms.switch(),
    default=True,
    shown_default="true",
    helm_value="env.vars.JANGAR_CONTROL_PLANE_ACCESS_LOG",
    processes=_PROCESSES,
    description="Log every request with route, status, duration and caller. Query strings and headers are not logged.",
)
AUDIT_RETENTION: Variable[Keep] = Variable(
    name="JANGAR_AUDIT_RETENTION_SECONDS",
    form=forms.retention("JANGAR_AUDIT_RETENTION_SECONDS"),
    default=Keep(duration=timedelta(days=90)),
    shown_default="7776000",
    helm_value="env.vars.JANGAR_AUDIT_RETENTION_SECONDS",
    processes=_PROCESSES,
    description="Time to keep audit records.",
)
PROXY_USER_HEADER = _text(
    "JANGAR_TRUSTED_PROXY_USER_HEADER",
    "Header in which a trusted proxy passes the signed-in user (OIDC), such as X-Forwarded-User. Unset trusts no "
    "proxy. The control plane impersonates these users and needs the RBAC permission to do so.",
    helm_value="controlPlane.trustedProxy.userHeader",
)
PROXY_GROUPS_HEADER = _text(
    "JANGAR_TRUSTED_PROXY_GROUPS_HEADER",
    "Header in which the trusted proxy passes the user's groups, separated by commas.",
    helm_value="controlPlane.trustedProxy.groupsHeader",
)
PROXY_GROUPS = _list(
    "JANGAR_TRUSTED_PROXY_GROUPS",
    "Accept only these groups from the trusted proxy and ignore others. Unset accepts all groups.",
    items="groups",
    helm_value="controlPlane.trustedProxy.groups",
)
PROXY_USERS = _list(
    "JANGAR_TRUSTED_PROXY_USERS",
    "Accept these users from the trusted proxy, or * for any. Other users are rejected unless they are in an accepted "
    "group. If the user header is set, set the users or the groups.",
    items="users",
    helm_value="controlPlane.trustedProxy.users",
)
PROXY_SECRET = _text(
    "JANGAR_TRUSTED_PROXY_SECRET",
    "Secret with which the trusted proxy authenticates, in the header X-Jangar-Proxy-Secret; at least 16 characters.",
    helm_value="controlPlane.trustedProxy.secretRef",
    is_secret=True,
)
