"""The chart as rendered by Helm. Runs the command; the tests decide what to expect."""

import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "agents"
ROLLOUT = "argoproj.io/v1alpha1/Rollout"
DEADLINE = 120.0


@cache
def helm_binary() -> Path | None:
    """The Helm of this virtual environment (`make setup`), else the one on the PATH."""
    bundled = Path(sys.executable).with_name("helm")
    if bundled.exists():
        return bundled
    path = shutil.which("helm")
    return Path(path) if path else None


@dataclass(frozen=True, kw_only=True)
class Ran:
    code: int
    out: str
    err: str


def run_helm(
    *words: str | Path,
    environment: Mapping[str, str] | None = None,
    stdin: str = "",
    seconds: float = DEADLINE,
) -> Ran:
    """Run Helm with its own home directory, independent of the user's configuration."""
    binary = helm_binary()
    if binary is None:
        pytest.skip("no helm: make setup installs one on Linux (x86-64); otherwise put one on the PATH")
    with tempfile.TemporaryDirectory(prefix="jangar-helm-") as home:
        env = {"HOME": home, "PATH": os.environ.get("PATH", os.defpath), **(environment or {})}
        ran = subprocess.run(
            [binary, *words],
            check=False,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=env,
            input=stdin,
        )
    return Ran(code=ran.returncode, out=ran.stdout, err=ran.stderr)


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted path as a tree."""
    tree: dict[str, Any] = {}
    for path, value in values.items():
        node = tree
        *parents, last = path.split(".")
        for key in parents:
            node = node.setdefault(key, {})
        node[last] = value
    return tree


def merged(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return copy.deepcopy(over)
    return {**base, **{key: merged(base.get(key), value) for key, value in over.items()}}


def template(
    values: Mapping[str, Any] | None = None,
    *,
    words: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    namespace: str = "agents",
    release: str = "agents",
) -> Ran:
    """`helm template` with values by dotted path on top of files from the chart's folder."""
    arguments = ["template", release, CHART, "--namespace", namespace, *words]
    for file in files:
        arguments += ["--values", CHART / file]
    return run_helm(*arguments, "--values", "-", stdin=json.dumps(nested(values or {})))


@dataclass(frozen=True)
class Objects:
    """The rendered objects."""

    all: tuple[dict[str, Any], ...]
    text: str

    def of(self, kind: str) -> dict[str, dict[str, Any]]:
        return {item["metadata"]["name"]: item for item in self.all if item["kind"] == kind}

    def one(self, kind: str, name: str) -> dict[str, Any]:
        return self.of(kind)[name]

    def installed(self) -> "Objects":
        """Without hooks."""
        kept = [
            item for item in self.all if "helm.sh/hook" not in (item["metadata"].get("annotations") or {})
        ]
        return Objects(tuple(kept), self.text)


def rendered(values: Mapping[str, Any] | None = None, **more: Any) -> Objects:
    ran = template(values, **more)
    assert ran.code == 0, ran.err
    return Objects(tuple(documents(ran.out)), ran.out)


def refusal(values: Mapping[str, Any] | None = None, **more: Any) -> str:
    """Helm's error for values that must be rejected."""
    ran = template(values, **more)
    assert ran.code != 0, "these values were rendered, but must be rejected"
    return ran.err


class _Strict(yaml.SafeLoader):
    """Rejects duplicate keys, which YAML tools treat differently."""


def _mapping(loader: _Strict, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    assert len(keys) == len(set(keys)), f"a key stands twice: {keys}"
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def documents(text: str) -> Iterator[dict[str, Any]]:
    for item in yaml.load_all(text, _Strict):
        if item is not None:
            yield item


def defaults() -> dict[str, Any]:
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    assert isinstance(values, dict)
    return values


def schema() -> dict[str, Any]:
    return json.loads((CHART / "values.schema.json").read_text("utf-8"))


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value by its path; an empty object counts as a value."""
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from leaves(value, f"{path}.{key}" if path else key)
    else:
        yield path, node


def container(workload: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    containers = workload["spec"]["template"]["spec"]["containers"]
    return next(item for item in containers if name in (None, item["name"]))


def environment(of: Mapping[str, Any]) -> dict[str, Any]:
    """Names mapped to texts or sources; a duplicate name fails."""
    entries = of.get("env") or []
    names = [entry["name"] for entry in entries]
    assert len(names) == len(set(names)), f"a name stands twice: {sorted(names)}"
    assert all(isinstance(entry.get("value", ""), str) for entry in entries)
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in entries}


def pod_specs(objects: Objects) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every pod template of the rendered objects."""
    for item in objects.all:
        name = f"{item['kind']}/{item['metadata']['name']}"
        if item["kind"] == "Pod":
            yield name, item["spec"]
        elif item["kind"] in ("Deployment", "Rollout", "Job"):
            yield name, item["spec"]["template"]["spec"]
