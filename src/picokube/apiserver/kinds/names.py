"""Validates names, labels and finalizers, with the messages of Kubernetes."""

import re
from collections.abc import Sequence
from typing import Final

from picokube.apiserver.protocol.memoize import memoized

_CACHE_SIZE = 8192
"""So many texts are judged once: the same labels and names come with every write of a step."""

_LABEL_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PATH_SEGMENT_BAD = ("/", "%")
_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STAGES = (None, "beta", "alpha")

SUBDOMAIN_LENGTH, LABEL_LENGTH = 253, 63

SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
NAME_PART_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
QUALIFIED_RULE = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
    "'example.com/MyName')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def subdomain_problems(name: str) -> list[str]:
    return list(_subdomain_problems(name))


@memoized(_CACHE_SIZE)
def _subdomain_problems(name: str) -> Sequence[str]:
    problems = (
        [] if len(name) <= SUBDOMAIN_LENGTH else [f"must be no more than {SUBDOMAIN_LENGTH} characters"]
    )
    return problems if _DNS_SUBDOMAIN.fullmatch(name) else [*problems, SUBDOMAIN_RULE]


def label_problems(name: str) -> list[str]:
    problems = [] if len(name) <= LABEL_LENGTH else [f"must be no more than {LABEL_LENGTH} characters"]
    if _DNS_LABEL.fullmatch(name):
        return problems
    return [*problems, "must not contain dots" if _DNS_SUBDOMAIN.fullmatch(name) else LABEL_RULE]


def path_segment_problems(name: str) -> list[str]:
    """Names of RBAC kinds may be anything that a path can carry."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{bad}'" for bad in _PATH_SEGMENT_BAD if bad in name]


def qualified_name_problems(key: str) -> list[str]:
    """A label key, annotation key or finalizer: `name` or `prefix/name`."""
    return list(_qualified_name_problems(key))


@memoized(_CACHE_SIZE)
def _qualified_name_problems(key: str) -> Sequence[str]:
    prefix, slash, name = key.rpartition("/")
    problems: list[str] = []
    if slash and "/" in prefix:
        return [QUALIFIED_RULE]
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in subdomain_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > LABEL_LENGTH:
        problems.append(f"name part must be no more than {LABEL_LENGTH} bytes")
    if not _LABEL_NAME.fullmatch(name):
        problems.append(NAME_PART_RULE)
    return problems


def label_value_problems(value: str) -> list[str]:
    return list(_label_value_problems(value))


@memoized(_CACHE_SIZE)
def _label_value_problems(value: str) -> Sequence[str]:
    problems = [] if len(value) <= LABEL_LENGTH else [f"must be no more than {LABEL_LENGTH} bytes"]
    return problems if not value or _LABEL_NAME.fullmatch(value) else [*problems, VALUE_RULE]


def finalizer_problems(name: str) -> list[str]:
    return qualified_name_problems(name) or unqualified_finalizer_problems(name)


def unqualified_finalizer_problems(name: str) -> list[str]:
    """A finalizer must name its domain, unless it is a standard one."""
    if "/" in name or name in ("orphan", "foregroundDeletion", "kubernetes"):
        return []
    return ["name is neither a standard finalizer name nor is it fully qualified"]


def version_order(version: str) -> tuple[int, int, int, str]:
    """Stable versions first, then beta, then alpha; the newest first. Other names follow by the alphabet."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return len(_STAGES), 0, 0, version
    major, stage, minor = found.groups()
    return _STAGES.index(stage), -int(major), -int(minor or 0), ""


_DNS_1035_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_MAX_1035_LENGTH: Final = 63
DNS_1035_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def dns_1035_problems(name: str) -> list[str]:
    problems = (
        [] if len(name) <= _MAX_1035_LENGTH else [f"must be no more than {_MAX_1035_LENGTH} characters"]
    )
    return problems if _DNS_1035_LABEL.fullmatch(name) else [*problems, DNS_1035_RULE]
