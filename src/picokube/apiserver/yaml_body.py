"""YAML as a request may send it: bounded in depth and in what its aliases expand to, repeated keys told.

Knows PyYAML's events and nodes; knows no kind.
"""

from typing import Any

import yaml

MAX_DEPTH = 500
MAX_EXPANDED = 500_000
_OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class TooMuchYaml(yaml.YAMLError):
    """A document that would cost more than any object is worth."""


def load_yaml(body: bytes) -> tuple[Any, list[str]]:
    """The document, and keys that a map repeats, as Go's YAML tells them. Raises YAMLError."""
    _check_depth(body)
    loader = yaml.CSafeLoader(body)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, []
        nodes = _each_once(node)
        _check_expansion(nodes)
        return loader.construct_document(node), _repeated_keys(nodes)
    finally:
        loader.dispose()


def _check_depth(body: bytes) -> None:
    depth = 0
    for event in yaml.parse(body, Loader=yaml.CSafeLoader):
        depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
        if depth > MAX_DEPTH:
            raise TooMuchYaml("exceeded max depth")


def _each_once(root: yaml.Node) -> list[yaml.Node]:
    """Every node once, children before their parents; an alias is the node that it names."""
    ordered: list[yaml.Node] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            ordered.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in _children(node))
    return ordered


def _children(node: yaml.Node) -> list[yaml.Node]:
    match node:
        case yaml.MappingNode():
            return [item for pair in node.value for item in pair]
        case yaml.SequenceNode():
            return list(node.value)
        case _:
            return []


def _check_expansion(nodes: list[yaml.Node]) -> None:
    """How large the document is once every alias is written out; one that holds itself never ends."""
    sizes: dict[int, int] = {}
    for node in nodes:
        children = _children(node)
        if any(id(child) not in sizes for child in children):
            raise TooMuchYaml("anchor value contains itself")
        sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children)
        if sizes[id(node)] > MAX_EXPANDED:
            raise TooMuchYaml("document contains excessive aliasing")


def _repeated_keys(nodes: list[yaml.Node]) -> list[str]:
    found: list[str] = []
    for node in nodes:
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key.value, str) and key.value in seen:
                    found.append(f'line {key.start_mark.line + 1}: key "{key.value}" already set in map')
                elif isinstance(key.value, str):
                    seen.add(key.value)
    return found
