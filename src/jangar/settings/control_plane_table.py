"""The rows of the table that `jangar control-plane` alone reads."""

from datetime import timedelta

from jangar.domain.retention.values import Keep
from jangar.settings import forms
from jangar.settings.forms import Form
from jangar.settings.variable import Process, Variable

_ONLY = frozenset({Process.CONTROL_PLANE})


def _text(
    name: str, sentence: str, *, default: str = "", helm_value: str = "", is_secret: bool = False
) -> Variable[str]:
    return Variable(
        name=name,
        form=forms.text(),
        default=default,
        shown_default=default,
        helm_value=helm_value or f"env.vars.{name}",
        processes=_ONLY,
        sentence=sentence,
        is_secret=is_secret,
    )


def _texts(
    name: str, sentence: str, *, what: str = "texts", helm_value: str = ""
) -> Variable[tuple[str, ...]]:
    form: Form[tuple[str, ...]] = forms.texts(what, str)
    return Variable(
        name=name,
        form=form,
        default=(),
        shown_default="",
        helm_value=helm_value or f"env.vars.{name}",
        processes=_ONLY,
        sentence=sentence,
    )


HOST = _text("JANGAR_CONTROL_PLANE_HOST", "The address that it listens on; --host wins.", default="127.0.0.1")
PORT: Variable[int] = Variable(
    name="PORT",
    form=forms.whole_number(least=0, most=65535),
    default=8080,
    shown_default="8080",
    helm_value="env.vars.PORT",
    processes=_ONLY,
    sentence="The port that it listens on; --port wins.",
)
ALLOWED_HOSTS = _texts(
    "JANGAR_CONTROL_PLANE_ALLOWED_HOSTS",
    "Host headers, with their port, that it answers to; not set, any: callers are known by tokens, not by cookies.",
)
ALLOWED_ORIGINS = _texts(
    "JANGAR_CONTROL_PLANE_ALLOWED_ORIGINS",
    "Other origins whose pages may change something; --allowed-origins wins.",
)
ACCESS_LOG: Variable[bool] = Variable(
    name="JANGAR_CONTROL_PLANE_ACCESS_LOG",
    form=forms.switch(),
    default=True,
    shown_default="true",
    helm_value="env.vars.JANGAR_CONTROL_PLANE_ACCESS_LOG",
    processes=_ONLY,
    sentence="Whether every request is told in the log: route, status, time and caller; never a query or a header.",
)
AUDIT_RETENTION: Variable[Keep] = Variable(
    name="JANGAR_AUDIT_RETENTION_SECONDS",
    form=forms.retention("JANGAR_AUDIT_RETENTION_SECONDS"),
    default=Keep(duration=timedelta(days=90)),
    shown_default="7776000",
    helm_value="env.vars.JANGAR_AUDIT_RETENTION_SECONDS",
    processes=_ONLY,
    sentence="How long rows of the audit trail are kept.",
)
PROXY_USER_HEADER = _text(
    "JANGAR_TRUSTED_PROXY_USER_HEADER",
    "The header in which a trusted proxy names who has signed in (OIDC), as X-Forwarded-User; not set, none does. "
    "Such callers are impersonated, which the control plane needs the right for.",
    helm_value="controlPlane.trustedProxy.userHeader",
)
PROXY_GROUPS_HEADER = _text(
    "JANGAR_TRUSTED_PROXY_GROUPS_HEADER",
    "The header in which that proxy names their groups, by comma.",
    helm_value="controlPlane.trustedProxy.groupsHeader",
)
PROXY_GROUPS = _texts(
    "JANGAR_TRUSTED_PROXY_GROUPS",
    "The groups that count of those it names; not set, all. Others are left out, as if it had not named them.",
    what="groups",
    helm_value="controlPlane.trustedProxy.groups",
)
PROXY_USERS = _texts(
    "JANGAR_TRUSTED_PROXY_USERS",
    "The users that it may name, or * for any. Others are refused, unless they are in one of the groups that count. "
    "With a user header, users or groups must be named.",
    what="users",
    helm_value="controlPlane.trustedProxy.users",
)
PROXY_SECRET = _text(
    "JANGAR_TRUSTED_PROXY_SECRET",
    "What that proxy proves itself by, in the header X-Jangar-Proxy-Secret; at least 16 characters.",
    helm_value="controlPlane.trustedProxy.secretRef",
    is_secret=True,
)
