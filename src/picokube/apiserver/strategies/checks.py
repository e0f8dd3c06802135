"""Small checks that many kinds share, in kube-apiserver's words. Each gives what is wrong; none knows a kind."""

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from picokube.apiserver.kinds.names import (
    label_problems,
    label_value_problems,
    qualified_name_problems,
    subdomain_problems,
)
from picokube.apiserver.protocol.messages import Json
from picokube.schema.errors import FieldError, duplicate, forbidden, invalid, not_supported, required

__all__ = [
    "IMMUTABLE", "config_key_problems", "dns_label", "dns_subdomain", "duplicate", "forbidden",
    "immutable", "in_range", "invalid", "ip_address", "label_selector", "labels", "labels_match", "non_negative",
    "not_supported", "number_or_percent", "one_of", "port_name_problems", "port_number", "port_or_name", "required",
    "same",
]  # fmt: skip

IMMUTABLE: Final = "field is immutable"
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_PORT_NAME: Final = re.compile(r"[a-z0-9-]+")
_PERCENT: Final = re.compile(r"[0-9]+%", re.ASCII)
_MAX_CONFIG_KEY: Final = 253
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


def non_negative(field: str, value: int | None) -> list[FieldError]:
    if value is not None and value < 0:
        return [invalid(field, value, "must be greater than or equal to 0")]
    return []


def in_range(field: str, value: int, least: int, most: int) -> list[FieldError]:
    return (
        []
        if least <= value <= most
        else [invalid(field, value, f"must be between {least} and {most}, inclusive")]
    )


def port_number(field: str, value: int) -> list[FieldError]:
    return in_range(field, value, 1, 65535)


def port_or_name(field: str, value: int | str) -> list[FieldError]:
    if isinstance(value, int):
        return port_number(field, value)
    return [invalid(field, value, problem) for problem in port_name_problems(value)]


def port_name_problems(name: str) -> list[str]:
    """IANA service names."""
    problems: list[str] = []
    if len(name) > 15:  # noqa: PLR2004 - the limit of RFC 6335
        problems.append("must be no more than 15 characters")
    if not _PORT_NAME.fullmatch(name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def number_or_percent(field: str, value: int | str) -> list[FieldError]:
    """Not negative, and at most 100%."""
    if isinstance(value, int):
        return non_negative(field, value)
    if not _PERCENT.fullmatch(value):
        detail = (
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
            "used for validation is '[0-9]+%')"
        )
        return [invalid(field, value, detail)]
    return [invalid(field, value, "must not be greater than 100%")] if int(value[:-1]) > 100 else []  # noqa: PLR2004


def one_of(field: str, value: Any, allowed: Sequence[str], *, empty: bool = False) -> list[FieldError]:
    """Required, and one of these."""
    if value in (None, "") and not empty:
        return [required(field)]
    return [] if value in allowed or (empty and not value) else [not_supported(field, value, allowed)]


def dns_label(field: str, value: str) -> list[FieldError]:
    return [invalid(field, value, problem) for problem in label_problems(value)]


def dns_subdomain(field: str, value: str) -> list[FieldError]:
    return [invalid(field, value, problem) for problem in subdomain_problems(value)]


def ip_address(field: str, value: str) -> list[FieldError]:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return [invalid(field, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    return []


def labels(field: str, found: Mapping[str, str] | None) -> list[FieldError]:
    problems: list[FieldError] = []
    for key, value in sorted((found or {}).items()):
        problems += [invalid(field, key, problem) for problem in qualified_name_problems(key)]
        problems += [invalid(field, value, problem) for problem in label_value_problems(value)]
    return problems


def label_selector(field: str, selector: Json | None) -> list[FieldError]:
    if not selector:
        return []
    problems = labels(f"{field}.matchLabels", selector.get("matchLabels"))
    for n, item in enumerate(selector.get("matchExpressions") or ()):
        problems += _requirement(f"{field}.matchExpressions[{n}]", item)
    return problems


def _requirement(field: str, each: Json) -> list[FieldError]:
    operator, values = each.get("operator"), each.get("values") or ()
    problems: list[FieldError] = []
    if operator in ("In", "NotIn") and not values:
        problems.append(required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist") and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        problems.append(forbidden(f"{field}.values", detail))
    elif operator not in _OPERATORS:
        problems.append(invalid(f"{field}.operator", operator or "", "not a valid selector operator"))
    key = each.get("key", "")
    problems += [invalid(f"{field}.key", key, problem) for problem in qualified_name_problems(key)]
    for n, value in enumerate(values):
        problems += [
            invalid(f"{field}.values[{n}]", value, problem) for problem in label_value_problems(value)
        ]
    return problems


def labels_match(selector: Json | None, found: Mapping[str, str]) -> bool:
    """Whether a label selector selects these labels. None selects nothing, an empty one everything."""
    if selector is None:
        return False
    if any(found.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(
        _expression_matches(match_expression, found)
        for match_expression in selector.get("matchExpressions") or ()
    )


def _expression_matches(each: Json, found: Mapping[str, str]) -> bool:
    key, values = each.get("key", ""), each.get("values") or ()
    match each.get("operator"):
        case "In":
            return key in found and found[key] in values
        case "NotIn":
            return found.get(key) not in values
        case "Exists":
            return key in found
        case _:
            return key not in found


def config_key_problems(key: str) -> list[str]:
    """Keys of ConfigMaps and Secrets become file names."""
    problems: list[str] = []
    if len(key) > _MAX_CONFIG_KEY:
        problems.append(f"must be no more than {_MAX_CONFIG_KEY} characters")
    if not _CONFIG_KEY.fullmatch(key):
        problems.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
    if key == ".":
        problems.append("must not be '.'")
    elif key == "..":
        problems.append("must not be '..'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def immutable(field: str, new: Any, old: Any) -> list[FieldError]:
    return [] if same(new, old) else [invalid(field, new, IMMUTABLE)]


def same(new: Any, old: Any) -> bool:
    """Equal, where absent and empty are the same."""
    return (new or None) == (old or None) if not isinstance(new, bool | int) else new == old


def duplicates(field: str, names: Iterable[str]) -> list[FieldError]:
    """`field[n].name` of each name that was there before."""
    seen: set[str] = set()
    problems: list[FieldError] = []
    for n, name in enumerate(names):
        if name in seen:
            problems.append(duplicate(f"{field}[{n}].name", name))
        seen.add(name)
    return problems
