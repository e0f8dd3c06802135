#!/usr/bin/env bash
# Checks the GitOps manifests: their fields, that what they name exists, that the pinned chart is the one that is here, and
# that the Application and the ApplicationSet say the same. Without cluster or network.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
python="${JANGAR_PYTHON:-.venv/bin/python}"
[[ -x "$python" ]] || make -s setup

scripts/kubeconform.sh argocd
"$python" - <<'PY'
import pathlib, sys, yaml

read = lambda path: yaml.safe_load(pathlib.Path(path).read_text())
problems = []
for file in sorted(pathlib.Path("argocd/applications").glob("*/kustomization.yaml")):
    for name in read(file).get("resources", []):
        if not (file.parent / name).exists():
            problems.append(f"{file}: {name} does not exist")
    for chart in read(file).get("helmCharts", []):
        there = read(f"charts/{chart['name']}/Chart.yaml")["version"]
        if chart["version"] != there:
            problems.append(f"{file}: chart {chart['name']} is pinned to {chart['version']}, but is {there}")
product = read("argocd/applicationsets/product.yaml")["spec"]
elements = [each for generator in product["generators"] for each in generator["list"]["elements"]]


def filled(node, element):
    if isinstance(node, dict):
        return {key: filled(value, element) for key, value in node.items()}
    if isinstance(node, list):
        return [filled(each, element) for each in node]
    if isinstance(node, str) and node.startswith("{{ ."):
        return element[node.strip("{} .")]
    return node


for element in elements:
    if not pathlib.Path(element["path"], "kustomization.yaml").exists():
        problems.append(f"product.yaml: {element['path']} has no kustomization.yaml")
    own = pathlib.Path(element["path"], "application.yaml")
    if own.exists() and read(own)["spec"] != filled(product["template"]["spec"], element):
        problems.append(f"{own}: it differs from what applicationsets/product.yaml makes")
sys.exit("\n".join(problems) or 0)
PY
echo "argocd: no problems"
