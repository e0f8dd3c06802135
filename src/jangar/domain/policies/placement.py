"""Where pods may be put and as whom they run: tolerations, node labels and names, as operators list them. Pure.

A pattern leaves parts away to mean any: `gpu`, `gpu=a100`, `gpu=a100:NoSchedule`; `*` stands for any text. What asks
for more than one value, such as a toleration of every key, is written with `*` itself and needs a pattern that has it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from jangar.domain.policies.globs import matches

ANY: Final = "*"
_TOLERATION = re.compile(r"[^=:\s]+(=[^:\s]*)?(:[A-Za-z*]+)?")
_NODE_LABEL = re.compile(r"[^=\s]+(=\S*)?")
API_AUDIENCES: Final = (
    "https://kubernetes.default.svc*",
    "https://kubernetes.default",
    "kubernetes.default.svc*",
    "kubernetes",
    "k3s",
    "api",
)
"""Audiences by which API servers are known; a token for one of them is a sign-in to the cluster."""


def parse_toleration_pattern(text: str) -> str:
    """`KEY[=VALUE][:EFFECT]`; raises ValueError for what is none."""
    if not _TOLERATION.fullmatch(text):
        raise ValueError(f"{text!r} is not a toleration: write KEY, KEY=VALUE or KEY=VALUE:EFFECT")
    return text


def parse_node_label_pattern(text: str) -> str:
    """`KEY[=VALUE]`; raises ValueError for what is none."""
    if not _NODE_LABEL.fullmatch(text):
        raise ValueError(f"{text!r} is not a node label: write KEY or KEY=VALUE")
    return text


def tolerations_in(config: Mapping[str, Any]) -> Iterator[str]:
    """What a run's `runtime.config` tolerates, as `KEY=VALUE:EFFECT`."""
    listed = config.get("tolerations")
    for item in listed if isinstance(listed, list) else ():
        if not isinstance(item, Mapping):
            yield f"{item}={ANY}:{ANY}"
            continue
        value = ANY if item.get("operator") == "Exists" or "value" not in item else item["value"]
        yield f"{item.get('key') or ANY}={value}:{item.get('effect') or ANY}"


def node_labels_in(config: Mapping[str, Any]) -> Iterator[str]:
    """The labels by which a run's `runtime.config` chooses nodes, as `KEY=VALUE`; an affinity chooses as well."""
    selector = config.get("nodeSelector")
    for key, value in selector.items() if isinstance(selector, Mapping) else ():
        yield f"{key}={value}"
    affinity = config.get("affinity")
    yield from _terms(affinity.get("nodeAffinity") if isinstance(affinity, Mapping) else None)


def _terms(value: Any) -> Iterator[str]:
    """Every expression in a node affinity, however deep; one that is not `In` may choose any value."""
    match value:
        case {"key": key, **rest}:
            values = rest.get("values")
            is_exact = rest.get("operator") == "In" and isinstance(values, list) and bool(values)
            for item in values if is_exact and isinstance(values, list) else (ANY,):
                yield f"{key}={item}"
        case Mapping():
            for item in value.values():
                yield from _terms(item)
        case list():
            for item in value:
                yield from _terms(item)


def allows_toleration(patterns: Sequence[str], asked: str) -> bool:
    """Whether one of the patterns means the toleration."""
    return any(_covers(_parts(pattern), _parts(asked)) for pattern in patterns)


def allows_node_label(patterns: Sequence[str], asked: str) -> bool:
    """Whether one of the patterns means the label."""
    key, _, value = asked.partition("=")
    return any(_covers((*_key_and_value(pattern), ANY), (key, value, "")) for pattern in patterns)


def _parts(text: str) -> tuple[str, str, str]:
    labelled, colon, effect = text.rpartition(":")
    key, value = _key_and_value(labelled if colon else text)
    return key, value, effect if colon else ANY


def _key_and_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    return key, value if equals else ANY


def _covers(pattern: tuple[str, str, str], asked: tuple[str, str, str]) -> bool:
    return all(matches(wanted, given) for wanted, given in zip(pattern, asked, strict=True))
