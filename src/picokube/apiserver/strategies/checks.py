"""Rules that many kinds share, with the messages of kube-apiserver.

A rule yields what is wrong with one value; a table of rules names the members of an object in the order in which
kube-apiserver validates them. Knows no kind.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from picokube.apiserver.kinds.names import (
    dns_1035_problems,
    label_problems,
    label_value_problems,
    path_segment_problems,
    qualified_name_problems,
    subdomain_problems,
)
from picokube.apiserver.kinds.object_meta import label_errors
from picokube.apiserver.protocol.messages import Json
from picokube.schema.errors import FieldError, duplicate, forbidden, invalid, not_supported, required

__all__ = [
    "IMMUTABLE",
    "MAX_INT32",
    "MAX_PORT",
    "TAINT_EFFECTS",
    "Problems",
    "Rule",
    "Rules",
    "at_least",
    "at_most",
    "check",
    "config_key_problems",
    "dns_1035_label",
    "dns_label",
    "dns_subdomain",
    "duplicate",
    "each",
    "every",
    "forbidden",
    "given",
    "immutable",
    "immutable_members",
    "invalid",
    "ip_address",
    "is_ip_address",
    "label_selector",
    "labels",
    "labels_match",
    "members",
    "need",
    "non_negative",
    "nonempty",
    "not_supported",
    "number_or_percent",
    "one_of",
    "path_segment",
    "port_name",
    "port_name_problems",
    "port_number",
    "port_or_name",
    "qualified_name",
    "required",
    "same",
    "supported",
    "template_labels_match",
    "text",
    "within",
]  # fmt: skip

Problems = Iterator[FieldError]
Rule = Callable[[str, Any], Iterable[FieldError]]
"""Validates the value of a field; the value is None where the field is absent."""

Rules = tuple[tuple[str, Rule], ...]
"""Members of an object and their rules."""

IMMUTABLE: Final = "field is immutable"
TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
MAX_INT32: Final = 2**31 - 1
MAX_PORT: Final = 65535
_MAX_CONFIG_KEY: Final = 253
_MAX_PORT_NAME: Final = 15
_MAX_PERCENT: Final = 100
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_PORT_NAME: Final = re.compile(r"[a-z0-9-]+")
_PERCENT: Final = re.compile(r"[0-9]+%", re.ASCII)
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


# -- tables of rules ----------------------------------------------------------------------------------------------


def check(field: str, obj: Json | None, *rows: tuple[str, Rule]) -> Problems:
    """Apply rules to members of an object, row by row."""
    members = obj or {}
    for name, rule in rows:
        yield from rule(f"{field}.{name}" if field else name, members.get(name))


def members(*rows: tuple[str, Rule]) -> Rule:
    """A rule for an object: those of its members. An absent object has no members."""
    return lambda field, obj: check(field, obj, *rows)


def each(rule: Rule, *, unique: str = "") -> Rule:
    """A rule for a list: one for every item. No two items may have the same value of the `unique` member."""

    def check_items(field: str, values: Sequence[Any] | None) -> Problems:
        seen = set()
        for n, value in enumerate(values or ()):
            yield from rule(f"{field}[{n}]", value)
            if unique and (key := value.get(unique)):
                if key in seen:
                    yield duplicate(f"{field}[{n}].{unique}", key)
                seen.add(key)

    return check_items


def given(rule: Rule) -> Rule:
    """A rule that an absent value passes."""
    return lambda field, value: () if value is None else rule(field, value)


def nonempty(rule: Rule) -> Rule:
    """A rule that an absent or empty value passes."""
    return lambda field, value: rule(field, value) if value else ()


def need(rule: Rule | None = None, detail: str = "") -> Rule:
    """A value that may not be absent or empty."""

    def check_needed(field: str, value: Any) -> Iterable[FieldError]:
        if not value:
            return [required(field, detail)]
        return rule(field, value) if rule else ()

    return check_needed


def every(*rules: Rule) -> Rule:
    """All of several rules, one after another."""
    return lambda field, value: (problem for rule in rules for problem in rule(field, value))


def text(problems: Callable[[str], Iterable[str]]) -> Rule:
    """A text that this function finds nothing wrong with."""
    return lambda field, value: [invalid(field, value or "", problem) for problem in problems(value or "")]


def at_least(least: int, detail: str) -> Rule:
    return lambda field, value: () if value is None or value >= least else [invalid(field, value, detail)]


def at_most(most: int, detail: str) -> Rule:
    return lambda field, value: () if value is None or value <= most else [invalid(field, value, detail)]


def within(least: int, most: int, detail: str = "") -> Rule:
    """A number between two bounds; an absent one passes."""
    why = detail or f"must be between {least} and {most}, inclusive"
    return lambda field, value: (
        () if value is None or least <= value <= most else [invalid(field, value, why)]
    )


def one_of(*allowed: str) -> Rule:
    """Required, and one of these."""
    return need(supported(*allowed))


def supported(*allowed: str) -> Rule:
    """One of these; an absent value is shown as an empty one."""
    return lambda field, value: (
        () if value in allowed else [not_supported(field, "" if value is None else value, allowed)]
    )


# -- rules ---------------------------------------------------------------------------------------------------------

non_negative: Final = at_least(0, "must be greater than or equal to 0")
dns_label: Final = text(label_problems)
dns_subdomain: Final = text(subdomain_problems)
dns_1035_label: Final = text(dns_1035_problems)
qualified_name: Final = text(qualified_name_problems)
path_segment: Final = text(path_segment_problems)
port_number: Final = within(1, MAX_PORT)
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)


def port_name_problems(name: str) -> Iterator[str]:
    """IANA service names."""
    if len(name) > _MAX_PORT_NAME:
        yield f"must be no more than {_MAX_PORT_NAME} characters"
    if not _PORT_NAME.fullmatch(name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search("[a-z]", name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name and (name[0] == "-" or name[-1] == "-"):
        yield "must not begin or end with a hyphen"


port_name: Final = text(port_name_problems)


def port_or_name(field: str, value: int | str | None) -> Iterable[FieldError]:
    return port_name(field, value) if isinstance(value, str) else port_number(field, value or 0)


def number_or_percent(field: str, value: int | str) -> Iterable[FieldError]:
    """Not negative, and at most 100%."""
    if isinstance(value, int):
        return non_negative(field, value)
    if not _PERCENT.fullmatch(value):
        return [invalid(field, value, _PERCENT_RULE)]
    return [] if int(value[:-1]) <= _MAX_PERCENT else [invalid(field, value, "must not be greater than 100%")]


def is_ip_address(address: str) -> bool:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def ip_address(field: str, value: str | None) -> Iterable[FieldError]:
    if not is_ip_address(value or ""):
        yield invalid(field, value or "", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


labels: Final = label_errors


def _requirement(field: str, requirement: Json) -> Problems:
    operator, values = requirement.get("operator"), requirement.get("values") or ()
    if operator in ("In", "NotIn") and not values:
        yield required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield forbidden(f"{field}.values", detail)
    elif operator not in _OPERATORS:
        yield invalid(f"{field}.operator", operator or "", "not a valid selector operator")
    yield from check(
        field, requirement, ("key", qualified_name), ("values", each(text(label_value_problems)))
    )


label_selector: Final = members(("matchLabels", labels), ("matchExpressions", each(_requirement)))


def labels_match(selector: Json | None, found: Mapping[str, str]) -> bool:
    """Whether a label selector selects these labels. None selects nothing, an empty one everything."""
    if selector is None:
        return False
    if any(found.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expression_matches(item, found) for item in selector.get("matchExpressions") or ())


def _expression_matches(expression: Json, found: Mapping[str, str]) -> bool:
    key, values = expression.get("key", ""), expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return key in found and found[key] in values
        case "NotIn":
            return found.get(key) not in values
        case "Exists":
            return key in found
        case _:
            return key not in found


def template_labels_match(obj_spec: Json) -> Iterable[FieldError]:
    """The selector of a workload must select the labels of its template."""
    found = (obj_spec["template"].get("metadata") or {}).get("labels")
    if not labels_match(obj_spec.get("selector"), found or {}):
        detail = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", found, detail)


def config_key_problems(key: str) -> Iterator[str]:
    """Keys of ConfigMaps and Secrets become file names."""
    if len(key) > _MAX_CONFIG_KEY:
        yield f"must be no more than {_MAX_CONFIG_KEY} characters"
    if not _CONFIG_KEY.fullmatch(key):
        yield (
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
    if key in (".", ".."):
        yield f"must not be '{key}'"
    elif key.startswith(".."):
        yield "must not start with '..'"


def immutable(field: str, new: Any, old: Any) -> Iterable[FieldError]:
    return [] if same(new, old) else [invalid(field, new, IMMUTABLE)]


def immutable_members(field: str, new: Json, old: Json, *names: str) -> Problems:
    """Members of an object that an update may not change."""
    for name in names:
        yield from immutable(f"{field}.{name}" if field else name, new.get(name), old.get(name))


def same(new: Any, old: Any) -> bool:
    """Equal, where absent and empty are the same."""
    return (new or None) == (old or None) if not isinstance(new, bool | int) else new == old
