#!/bin/sh
# Prints the fan-out with COUNT steps: one that plans, COUNT - 2 that work side by side, one that reports.
# orchestration.yaml is its output for 1000.
count=${1:-1000}
cat <<EOF
# Written by: sh generate.sh $count
apiVersion: tools.proompteng.ai/v1alpha1
kind: Tool
metadata:
  name: fan-out-work
spec:
  image: busybox:1.37
  command: [sh, -c, 'echo "part \$PART" > "\$JANGAR_RESULT_PATH"']
  env:
    - name: PART
      value: "{{ parameters.part }}"
---
apiVersion: orchestration.proompteng.ai/v1alpha1
kind: Orchestration
metadata:
  name: fan-out
spec:
  policies:
    maxParallel: 50
  steps:
    - {name: plan, kind: ToolRun, toolRef: {name: fan-out-work}, dependsOn: [], with: {part: plan}}
EOF
awk -v count="$count" 'BEGIN {
  for (part = 1; part <= count - 2; part++) {
    printf "    - {name: part-%04d, kind: ToolRun, toolRef: {name: fan-out-work}, dependsOn: [plan], with: {part: \"%d\"}}\n", part, part
    all = all (part > 1 ? ", " : "") sprintf("part-%04d", part)
  }
  printf "    - {name: report, kind: ToolRun, toolRef: {name: fan-out-work}, dependsOn: [%s], with: {part: report}}\n", all
}'
