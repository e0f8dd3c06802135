#!/usr/bin/env bash
# Checks that the CRDs and the API reference are what the types say, that every CRD can be applied, and that
# every example is valid. One line a check; exits 1 if any failed. Works from anywhere.
#
# JANGAR_PYTHON  a Python that has jangar installed, instead of the one in .venv
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

crds=charts/agents/crds
examples=charts/agents/examples
python="${JANGAR_PYTHON:-.venv/bin/python}"
if [[ -z "${JANGAR_PYTHON:-}" && ! -x "$python" ]]; then
  make -s setup
fi
jangar="$(dirname "$python")/jangar"

failed=0

# check NAME FIX COMMAND...: runs the command; on failure shows its output and what to do.
check() {
  local name="$1" fix="$2" output
  shift 2
  if output="$("$@" 2>&1)"; then
    printf 'ok    %s\n' "$name"
  else
    printf 'FAIL  %s; %s\n' "$name" "$fix"
    sed 's/^/      /' <<<"$output"
    failed=1
  fi
}

generated_files_match() {
  "$python" -m jangar.crdgen --check --root .
}

# kubectl apply keeps the whole definition, as JSON, in an annotation of at most 256 KiB.
crds_fit() {
  "$python" - "$crds" <<'PY'
import json, pathlib, sys, yaml

LIMIT = 256 * 1024
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def size(file):
    return len(json.dumps(yaml.load(file.read_text(), LOADER), separators=(",", ":")).encode())


files = sorted(pathlib.Path(sys.argv[1]).glob("*.yaml"))
problems = [f"{file}: {size(file):,} bytes as JSON, {LIMIT:,} allowed" for file in files if size(file) > LIMIT]
if not files:
    problems = [f"{sys.argv[1]}: no CRD found"]
sys.exit("\n".join(problems) or 0)
PY
}

examples_are_valid() {
  compgen -G "$examples/*.yaml" >/dev/null || { echo "$examples: no example found"; return 1; }
  grep -L '^# Not built yet' "$examples"/*.yaml | xargs "$jangar" lint
}

presets_are_valid() {
  local preset pinned="image.digest=sha256:$(printf '0%.0s' {1..64})"
  for preset in charts/agents/values.yaml charts/agents/values-*.yaml; do
    "$helm" lint --strict charts/agents --namespace agents --values "$preset" --set "$pinned"
    "$helm" template agents charts/agents --namespace agents --values "$preset" --set "$pinned" | scripts/kubeconform.sh -
  done
}

check "CRDs and API reference are what src/jangar/api says" "run 'make generate'" generated_files_match
check "every CRD is at most 256 KiB" "make its schema smaller: open a deep object, or shorten descriptions" crds_fit
check "every example is valid" "fix the manifests named below" examples_are_valid
check "the chart's generated files are what the code says" "run 'make generate'" "$python" scripts/agents/chart-reference --check
check "every field of CRDs and examples is known" "fix the manifests named below" scripts/kubeconform.sh "$crds" "$examples"
check "GitOps manifests are valid" "fix what is named below" scripts/argo-lint.sh
helm="$(dirname "$python")/helm"
[[ -x "$helm" ]] || helm="$(command -v helm || true)"
if [[ -n "$helm" ]]; then
  check "the chart passes lint and every preset renders known fields" "fix what is named below" presets_are_valid
else
  printf 'skip  the chart is not rendered: no helm\n'
fi

exit "$failed"
