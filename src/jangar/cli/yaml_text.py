"""YAML output of the command line: one document, block style, with keys in their order."""

from typing import Any

import yaml


def yaml_text(value: Any) -> str:
    """The document with its separator, without the last line break."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, explicit_start=True, sort_keys=False, allow_unicode=True, width=120
    )
    return text.rstrip("\n")


class _Dumper(yaml.CSafeDumper):
    """Writes values out instead of pointing back at equal ones: people read this."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the method of PyYAML
        return True
