#!/usr/bin/env bash
# Checks that every field of every manifest under the paths is known and of its type, without cluster or network.
#   scripts/kubeconform.sh argocd charts/agents/crds charts/agents/examples
#   helm template agents charts/agents | scripts/kubeconform.sh -
#
# JANGAR_PYTHON  a Python that has jangar installed, instead of the one in .venv
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
python="${JANGAR_PYTHON:-$root/.venv/bin/python}"
[[ -x "$python" ]] || make -s -C "$root" setup
exec "$python" "$root/scripts/agents/manifest-check" "${@:-$root/argocd}"
