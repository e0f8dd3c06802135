"""The settings of `jangar control-plane`, read from its environment and validated."""

# ruff: noqa: RUF009 (`setting` returns a dataclass field, not a value that instances share)

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

from jangar.domain.retention import Keep
from jangar.settings import forms
from jangar.settings.forms import Form, Scope
from jangar.settings.shared import DATABASE_URL, LOG_FORMAT, ORCHESTRATION_NAMESPACES
from jangar.settings.variables import CONTROL_PLANE, BadSettings, read, retention, setting, shared

T = TypeVar("T")

MIN_SECRET_LENGTH: Final = 16
USER_HEADER: Final = "JANGAR_TRUSTED_PROXY_USER_HEADER"
GROUPS: Final = "JANGAR_TRUSTED_PROXY_GROUPS"
USERS: Final = "JANGAR_TRUSTED_PROXY_USERS"
SECRET: Final = "JANGAR_TRUSTED_PROXY_SECRET"  # noqa: S105 - the name of a variable


def _variable(
    name: str,
    form: Form[T],
    default: T,
    description: str,
    *,
    helm_value: str = "",
    is_secret: bool = False,
) -> T:
    return setting(
        name,
        form,
        default,
        description,
        helm_value=helm_value or f"env.vars.{name}",
        processes=CONTROL_PLANE,
        is_secret=is_secret,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneSettings:
    """Every setting of the process; unset ones have their defaults."""

    host: str = _variable(
        "JANGAR_CONTROL_PLANE_HOST", forms.text(), "127.0.0.1", "Address to listen on; --host overrides it."
    )
    port: int = _variable(
        "PORT", forms.integer(minimum=0, maximum=65535), 8080, "Port to listen on; --port overrides it."
    )
    namespaces: Scope = shared(ORCHESTRATION_NAMESPACES)
    allowed_hosts: tuple[str, ...] = _variable(
        "JANGAR_CONTROL_PLANE_ALLOWED_HOSTS",
        forms.list_of("strings", str),
        (),
        "Accept only requests with these Host headers, including the port. Unset accepts any: callers authenticate "
        "with tokens, not cookies.",
    )
    allowed_origins: tuple[str, ...] = _variable(
        "JANGAR_CONTROL_PLANE_ALLOWED_ORIGINS",
        forms.list_of("strings", str),
        (),
        "Accept write requests from pages of these additional origins; --allowed-origins overrides it.",
    )
    access_log: bool = _variable(
        "JANGAR_CONTROL_PLANE_ACCESS_LOG",
        forms.switch(),
        True,
        "Log every request with route, status, duration and caller. Query strings and headers are not logged.",
    )
    audit_retention: Keep = retention(
        "JANGAR_AUDIT_RETENTION_SECONDS",
        Keep(duration=timedelta(days=90)),
        "Time to keep audit records.",
        helm_value="env.vars.JANGAR_AUDIT_RETENTION_SECONDS",
        processes=CONTROL_PLANE,
    )
    proxy_user_header: str = _variable(
        USER_HEADER,
        forms.text(),
        "",
        "Header in which a trusted proxy passes the signed-in user (OIDC), such as X-Forwarded-User. Unset trusts no "
        "proxy. The control plane impersonates these users and needs the RBAC permission to do so.",
        helm_value="controlPlane.trustedProxy.userHeader",
    )
    proxy_groups_header: str = _variable(
        "JANGAR_TRUSTED_PROXY_GROUPS_HEADER",
        forms.text(),
        "",
        "Header in which the trusted proxy passes the user's groups, separated by commas.",
        helm_value="controlPlane.trustedProxy.groupsHeader",
    )
    proxy_groups: tuple[str, ...] = _variable(
        GROUPS,
        forms.list_of("groups", str),
        (),
        "Accept only these groups from the trusted proxy and ignore others. Unset accepts all groups.",
        helm_value="controlPlane.trustedProxy.groups",
    )
    proxy_users: tuple[str, ...] = _variable(
        USERS,
        forms.list_of("users", str),
        (),
        "Accept these users from the trusted proxy, or * for any. Other users are rejected unless they are in an "
        "accepted group. If the user header is set, set the users or the groups.",
        helm_value="controlPlane.trustedProxy.users",
    )
    proxy_secret: str = _variable(
        SECRET,
        forms.text(),
        "",
        "Secret with which the trusted proxy authenticates, in the header X-Jangar-Proxy-Secret; at least 16 "
        "characters.",
        helm_value="controlPlane.trustedProxy.secretRef",
        is_secret=True,
    )
    database_url: str = shared(DATABASE_URL)
    log_format: str = shared(LOG_FORMAT)


def control_plane_settings(environment: Mapping[str, str]) -> ControlPlaneSettings:
    """Read and validate the environment; raises BadSettings with every problem at once."""
    settings = read(ControlPlaneSettings, environment)
    if settings.proxy_user_header and len(settings.proxy_secret) < MIN_SECRET_LENGTH:
        raise BadSettings(
            [f"{USER_HEADER} is set: also set {SECRET}, with at least {MIN_SECRET_LENGTH} characters"]
        )
    if settings.proxy_user_header and not (settings.proxy_users or settings.proxy_groups):
        users = f"{USERS} or {GROUPS} ({USERS}=* allows anyone)"
        raise BadSettings([f"{USER_HEADER} is set: also list who may sign in, in {users}"])
    if settings.proxy_secret and not settings.proxy_user_header:
        raise BadSettings([f"{SECRET} is set: also name the header with the user in {USER_HEADER}"])
    return settings
