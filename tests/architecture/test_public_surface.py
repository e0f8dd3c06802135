"""The public surface by name: it changes only on purpose.

`public_surface.json` lists it. After an intended change, write it again with `JANGAR_WRITE_SURFACE=1 python -m pytest
tests/architecture/test_public_surface.py`, and describe the change in the changelog.
"""

import hashlib
import json
import os
import re
from enum import StrEnum
from pathlib import Path

import pytest
import typer.main
import yaml

import jangar.api.phases
import jangar.api.reasons
from jangar.cli.app import app
from jangar.server.http.routes import ROUTES

ROOT = Path(__file__).parents[2]
SNAPSHOT = Path(__file__).with_name("public_surface.json")
SETTING = re.compile(r"^\| `([A-Z_0-9]+)`", re.MULTILINE)
METRIC = re.compile(r'"(jangar_[a-z_]+)"')


def without_descriptions(node, *, is_schema=True):
    """The schema without descriptions; a property named `description` stays."""
    if isinstance(node, dict):
        return {
            name: without_descriptions(value, is_schema=name != "properties")
            for name, value in node.items()
            if not (is_schema and name == "description")
        }
    return [without_descriptions(item) for item in node] if isinstance(node, list) else node


def kinds():
    metrics_by_name = {}
    for path in sorted((ROOT / "charts" / "agents" / "crds").glob("*.yaml")):
        text = json.dumps(without_descriptions(yaml.safe_load(path.read_text())), sort_keys=True)
        metrics_by_name[path.stem] = hashlib.sha256(text.encode()).hexdigest()
    return metrics_by_name


def chart_keys(node, above=""):
    if not isinstance(node, dict) or not node:
        return [above]
    return [key for name, value in node.items() for key in chart_keys(value, f"{above}.{name}".lstrip("."))]


def commands():
    words_by_command = {}
    tree = typer.main.get_command(app)
    for name, command in sorted(tree.commands.items()):
        with command.make_context(name, [], resilient_parsing=True) as context:
            params = command.get_params(context)
        words_by_command[name] = sorted(
            word for param in params for word in (*param.opts, *param.secondary_opts)
        )
    return words_by_command


def enums(*modules):
    return {
        name: sorted(value)
        for module in modules
        for name, value in sorted(vars(module).items())
        if isinstance(value, type) and issubclass(value, StrEnum) and value is not StrEnum
    }


def metrics():
    return {name for path in (ROOT / "src").rglob("*.py") for name in METRIC.findall(path.read_text())}


SURFACE = {
    "kinds": kinds,
    "settings": lambda: sorted(SETTING.findall((ROOT / "docs" / "reference" / "settings.md").read_text())),
    "chart": lambda: sorted(
        chart_keys(yaml.safe_load((ROOT / "charts" / "agents" / "values.yaml").read_text()))
    ),
    "routes": lambda: sorted(f"{entry.method} {entry.path}" for entry in ROUTES),
    "commands": commands,
    "metrics": lambda: sorted(metrics()),
    "words": lambda: enums(jangar.api.phases, jangar.api.reasons),
}


@pytest.mark.parametrize("part", SURFACE)
def test_the_public_surface_changes_only_on_purpose(part):
    current = json.loads(json.dumps(SURFACE[part]()))
    kept = json.loads(SNAPSHOT.read_text()) if SNAPSHOT.exists() else {}
    if os.environ.get("JANGAR_WRITE_SURFACE"):
        SNAPSHOT.write_text(json.dumps(kept | {part: current}, indent=1, sort_keys=True) + "\n")
        return
    assert current == kept[part]
