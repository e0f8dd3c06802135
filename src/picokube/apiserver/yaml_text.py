"""JSON documents as YAML, in the way Go's YAML library writes them: keys sorted, doubtful texts in double quotes."""

import re
from typing import Any

import orjson
import yaml
from yaml.resolver import Resolver

_OLD_TRUTHS = frozenset({"y", "Y", "n", "N"})
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?0[box][0-9a-fA-F_]+")
_RESOLVER = Resolver()


class _Dumper(yaml.CSafeDumper):
    """Writes no anchors: a document is a tree."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    tag = "tag:yaml.org,2002:str"
    if "\n" in text:
        return dumper.represent_scalar(tag, text, style="|")
    meant = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    is_doubtful = meant != tag or text in _OLD_TRUTHS or _NUMBER.fullmatch(text)
    style = '"' if is_doubtful else None
    return dumper.represent_scalar(tag, text, style=style)


_Dumper.add_representer(str, _text)


def as_yaml(document: bytes) -> bytes:
    """From JSON; ends with a line break."""
    text = yaml.dump(
        orjson.loads(document), Dumper=_Dumper, default_flow_style=False, allow_unicode=True, encoding="utf-8"
    )
    found: bytes = text
    return found
