"""What `jangar control-plane` is told by its environment, and what is wrong with that. Knows nothing of its use."""

# ruff: noqa: RUF009 (`setting` makes a field, not a value that instances would share)

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jangar.domain.retention.values import Keep
from jangar.settings import control_plane_table, table
from jangar.settings.forms import Scope
from jangar.settings.reading import BadSettings, read
from jangar.settings.variable import setting

LEAST_SECRET: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneSettings:
    """Every setting of the process; one that is not set has its default."""

    host: str = setting(control_plane_table.HOST)
    port: int = setting(control_plane_table.PORT)
    namespaces: Scope = setting(table.ORCHESTRATION_NAMESPACES)
    allowed_hosts: tuple[str, ...] = setting(control_plane_table.ALLOWED_HOSTS)
    allowed_origins: tuple[str, ...] = setting(control_plane_table.ALLOWED_ORIGINS)
    access_log: bool = setting(control_plane_table.ACCESS_LOG)
    audit_retention: Keep = setting(control_plane_table.AUDIT_RETENTION)
    proxy_user_header: str = setting(control_plane_table.PROXY_USER_HEADER)
    proxy_groups_header: str = setting(control_plane_table.PROXY_GROUPS_HEADER)
    proxy_groups: tuple[str, ...] = setting(control_plane_table.PROXY_GROUPS)
    proxy_users: tuple[str, ...] = setting(control_plane_table.PROXY_USERS)
    proxy_secret: str = setting(control_plane_table.PROXY_SECRET)
    database_url: str = setting(table.DATABASE_URL)


def control_plane_settings(environment: Mapping[str, str]) -> ControlPlaneSettings:
    """What the environment says; raises BadSettings with every problem at once."""
    settings = read(ControlPlaneSettings, environment)
    user, secret = control_plane_table.PROXY_USER_HEADER.name, control_plane_table.PROXY_SECRET.name
    if settings.proxy_user_header and len(settings.proxy_secret) < LEAST_SECRET:
        raise BadSettings([f"{user} is set: set {secret} too, with at least {LEAST_SECRET} characters"])
    if settings.proxy_user_header and not (settings.proxy_users or settings.proxy_groups):
        users, groups = control_plane_table.PROXY_USERS.name, control_plane_table.PROXY_GROUPS.name
        raise BadSettings(
            [f"{user} is set: name who may sign in, in {users} or {groups} ({users}=* is anybody)"]
        )
    if settings.proxy_secret and not settings.proxy_user_header:
        raise BadSettings([f"{secret} is set: name the header that holds the user in {user}, too"])
    return settings
