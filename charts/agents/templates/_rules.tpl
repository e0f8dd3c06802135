{{/* The rights of the controllers, generated from their registrations by `make generate`. */}}
{{- define "agents.controllerRules" -}}
{{ .Files.Get "files/controller-rules.yaml" | trim }}
{{- end -}}

{{/* What the control plane reads with its own account: runs and their details. All other requests use the caller's token. */}}
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
# The controllers, their versions and the shards that they hold.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list]
{{- end -}}

{{/* Identifying callers, if a value enables it. The control plane rejects names that begin with system:, and the schema
does not allow them in lists. */}}
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

{{/* Only in the namespace of the Leases. */}}
{{- define "agents.leaseRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, watch, create, update, patch, delete]
{{- end -}}

{{/* Removing finalizers before an uninstall. */}}
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
