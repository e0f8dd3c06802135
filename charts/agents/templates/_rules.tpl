{{/* What the controllers call, and no more: tests compare it with what they watch and with what they ask a real API server. */}}
{{- define "agents.controllerRules" -}}
# Runs and their children: read, made, steered, held by a finalizer and, when retention says so, deleted.
- apiGroups: [orchestration.proompteng.ai]
  resources: [orchestrationruns]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [tools.proompteng.ai]
  resources: [toolruns]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [agents.proompteng.ai]
  resources: [agentruns]
  verbs: [get, list, watch, create, patch, delete]
# Definitions: read; their status tells whether they are valid.
- apiGroups: [orchestration.proompteng.ai]
  resources: [orchestrations]
  verbs: [get, list, watch]
- apiGroups: [tools.proompteng.ai]
  resources: [tools]
  verbs: [get, list, watch]
- apiGroups: [agents.proompteng.ai]
  resources: [agents, agentproviders, implementationspecs, memories, versioncontrolproviders]
  verbs: [get, list, watch]
- apiGroups: [security.proompteng.ai]
  resources: [secretbindings]
  verbs: [get, list, watch]
# Kinds that nothing acts on yet: their status says so.
- apiGroups: [agents.proompteng.ai]
  resources: [implementationsources]
  verbs: [get, list, watch]
- apiGroups: [approvals.proompteng.ai]
  resources: [approvalpolicies]
  verbs: [get, list, watch]
- apiGroups: [artifacts.proompteng.ai]
  resources: [artifacts]
  verbs: [get, list, watch]
- apiGroups: [budgets.proompteng.ai]
  resources: [budgets]
  verbs: [get, list, watch]
- apiGroups: [schedules.proompteng.ai]
  resources: [schedules]
  verbs: [get, list, watch]
- apiGroups: [signals.proompteng.ai]
  resources: [signals, signaldeliveries]
  verbs: [get, list, watch]
- apiGroups: [swarm.proompteng.ai]
  resources: [swarms]
  verbs: [get, list, watch]
- apiGroups: [workspaces.proompteng.ai]
  resources: [workspaces]
  verbs: [get, list, watch]
- apiGroups: [approvals.proompteng.ai]
  resources: [approvalpolicies/status]
  verbs: [patch]
- apiGroups: [artifacts.proompteng.ai]
  resources: [artifacts/status]
  verbs: [patch]
- apiGroups: [budgets.proompteng.ai]
  resources: [budgets/status]
  verbs: [patch]
- apiGroups: [schedules.proompteng.ai]
  resources: [schedules/status]
  verbs: [patch]
- apiGroups: [signals.proompteng.ai]
  resources: [signals/status, signaldeliveries/status]
  verbs: [patch]
- apiGroups: [swarm.proompteng.ai]
  resources: [swarms/status]
  verbs: [patch]
- apiGroups: [workspaces.proompteng.ai]
  resources: [workspaces/status]
  verbs: [patch]
- apiGroups: [orchestration.proompteng.ai]
  resources: [orchestrations/status, orchestrationruns/status]
  verbs: [patch]
- apiGroups: [tools.proompteng.ai]
  resources: [tools/status, toolruns/status]
  verbs: [patch]
- apiGroups: [agents.proompteng.ai]
  resources: [agents/status, agentproviders/status, implementationspecs/status, implementationsources/status, versioncontrolproviders/status, agentruns/status]
  verbs: [patch]
# Where the admission plugin OwnerReferencesPermissionEnforcement runs, owners are named only by who may finalize them.
- apiGroups: [orchestration.proompteng.ai]
  resources: [orchestrationruns/finalizers]
  verbs: [update]
- apiGroups: [tools.proompteng.ai]
  resources: [toolruns/finalizers]
  verbs: [update]
- apiGroups: [agents.proompteng.ai]
  resources: [agentruns/finalizers]
  verbs: [update]
# Work.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, patch, delete]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# Snapshots of definitions, pages of steps, input of runners.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, patch]
- apiGroups: [""]
  resources: [events]
  verbs: [get, list, create, patch]
# Values that must not stand in log tails, and the keys of apps, whose tokens get a Secret of their own; never listed.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create]
{{- end -}}

{{/* What the control plane reads by itself: runs, and what shows one of them. Whatever else is asked of it, it asks with the
caller's own token. */}}
{{- define "agents.controlPlaneRules" -}}
- apiGroups: [orchestration.proompteng.ai]
  resources: [orchestrationruns]
  verbs: [get, list, watch]
- apiGroups: [orchestration.proompteng.ai]
  resources: [orchestrations]
  verbs: [get]
# Snapshots of definitions and pages of steps.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list]
# Which controllers there are, of which version, and what they hold.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list]
{{- end -}}

{{/* Who asks, where the control plane must find that out by itself; nothing unless a value asks for it. Names that begin with
system: it refuses, and the schema does not let them be listed. */}}
{{- define "agents.identityRules" -}}
{{- $proxy := .Values.controlPlane.trustedProxy -}}
{{- $rules := list -}}
{{- if .Values.controlPlane.rbac.tokenReviews -}}
{{- $rules = append $rules (dict "apiGroups" (list "authentication.k8s.io") "resources" (list "tokenreviews") "verbs" (list "create")) -}}
{{- end -}}
{{- if $proxy.userHeader -}}
{{- $users := dict "apiGroups" (list "") "resources" (list "users") "verbs" (list "impersonate") -}}
{{- if and $proxy.users (not $proxy.groups) (not (has "*" $proxy.users)) -}}{{- $_ := set $users "resourceNames" $proxy.users -}}{{- end -}}
{{- $rules = append $rules $users -}}
{{- if $proxy.groupsHeader -}}
{{- $rules = append $rules (dict "apiGroups" (list "") "resources" (list "groups") "resourceNames" $proxy.groups "verbs" (list "impersonate")) -}}
{{- end -}}
{{- end -}}
{{- with $rules -}}{{- toYaml . -}}{{- end -}}
{{- end -}}

{{/* In the namespace of the Leases alone. */}}
{{- define "agents.leaseRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, watch, create, update, patch, delete]
{{- end -}}

{{/* What releasing finalizers before an uninstall needs. */}}
{{- define "agents.releaseRules" -}}
- apiGroups: [orchestration.proompteng.ai]
  resources: [orchestrationruns]
  verbs: [get, list, patch]
- apiGroups: [tools.proompteng.ai]
  resources: [toolruns]
  verbs: [get, list, patch]
- apiGroups: [agents.proompteng.ai]
  resources: [agentruns]
  verbs: [get, list, patch]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, patch]
{{- end -}}
