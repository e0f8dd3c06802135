"""The settings of `jangar control-plane`, read from its environment and validated."""

# ruff: noqa: RUF009 (`setting` returns a dataclass field, not a value that instances share)

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jangar.domain.retention import Keep
from jangar.settings import control_plane_table, table
from jangar.settings.environment import BadSettings, read
from jangar.settings.forms import Scope
from jangar.settings.variable import setting

MIN_SECRET_LENGTH: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneSettings:
    """Every setting of the process; unset ones have their defaults."""

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
    """Read and validate the environment; raises BadSettings with every problem at once."""
    settings = read(ControlPlaneSettings, environment)
    user, secret = control_plane_table.PROXY_USER_HEADER.name, control_plane_table.PROXY_SECRET.name
    if settings.proxy_user_header and len(settings.proxy_secret) < MIN_SECRET_LENGTH:
        raise BadSettings([f"{user} is set: also set {secret}, with at least {MIN_SECRET_LENGTH} characters"])
    if settings.proxy_user_header and not (settings.proxy_users or settings.proxy_groups):
        users, groups = control_plane_table.PROXY_USERS.name, control_plane_table.PROXY_GROUPS.name
        raise BadSettings(
            [f"{user} is set: also list who may sign in, in {users} or {groups} ({users}=* allows anyone)"]
        )
    if settings.proxy_secret and not settings.proxy_user_header:
        raise BadSettings([f"{secret} is set: also name the header with the user in {user}"])
    return settings
