{{/* Names and labels. */}}

{{- define "agents.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "agents.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "agents.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "agents.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "agents.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* What a component's objects are called. */}}
{{- define "agents.componentName" -}}
{{- if eq .component "controllers" -}}{{ include "agents.fullname" .root }}-controllers{{- else -}}{{ include "agents.fullname" .root }}{{- end -}}
{{- end -}}

{{/* What finds a component's pods; the two never find each other's. */}}
{{- define "agents.selectorLabels" -}}
app.kubernetes.io/name: {{ include "agents.name" .root }}{{ if eq .component "controllers" }}-controllers{{ end }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- end -}}

{{/* Labels of every object. */}}
{{- define "agents.sharedLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: {{ include "agents.name" . }}
{{- end -}}

{{/* Labels of a component's objects. */}}
{{- define "agents.labels" -}}
{{ include "agents.selectorLabels" . }}
{{ include "agents.sharedLabels" .root }}
{{- end -}}

{{/* Labels of what belongs to no component. */}}
{{- define "agents.releaseLabels" -}}
app.kubernetes.io/name: {{ include "agents.name" . }}-release
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{ include "agents.sharedLabels" . }}
{{- end -}}

{{- define "agents.serviceAccountName" -}}
{{- $account := ternary .root.Values.controllers.serviceAccount .root.Values.serviceAccount (eq .component "controllers") -}}
{{- if $account.name -}}
{{- $account.name -}}
{{- else if $account.create -}}
{{- include "agents.fullname" .root }}{{ ternary "-controllers" "-sa" (eq .component "controllers") -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{/* Who runs the controllers: the service account of their pods. */}}
{{- define "agents.actingServiceAccountName" -}}
{{- include "agents.serviceAccountName" (dict "root" . "component" (ternary "controllers" "controlPlane" .Values.controllers.enabled)) -}}
{{- end -}}

{{/* Empty where the chart makes none and none is named. */}}
{{- define "agents.runnerServiceAccountName" -}}
{{- if .Values.runnerServiceAccount.name -}}
{{- .Values.runnerServiceAccount.name -}}
{{- else if .Values.runnerServiceAccount.create -}}
{{- include "agents.fullname" . }}-runner
{{- end -}}
{{- end -}}

{{- define "agents.databaseSecretName" -}}
{{- if or .Values.database.createSecret.enabled (and .Values.database.url (not .Values.database.secretRef.name)) -}}
{{- default (printf "%s-db" (include "agents.fullname" .)) .Values.database.createSecret.name -}}
{{- else -}}
{{- .Values.database.secretRef.name -}}
{{- end -}}
{{- end -}}

{{/* An image by its parts: what the first leaves empty the second says. */}}
{{- define "agents.image" -}}
{{- $own := .own -}}{{- $base := .base -}}
{{- $tag := default (default .root.Chart.AppVersion $base.tag) $own.tag -}}
{{- $digest := $own.digest -}}
{{- if and (not $digest) (not $own.repository) (not $own.tag) -}}{{- $digest = $base.digest -}}{{- end -}}
{{- default $base.repository $own.repository }}:{{ $tag }}{{ with $digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- define "agents.componentImage" -}}
{{- include "agents.image" (dict "root" .root "own" (index .root.Values .component).image "base" .root.Values.image) -}}
{{- end -}}

{{/* The image of work that names none; the controllers' own, which has the runner, where operators name none either. */}}
{{- define "agents.runnerImage" -}}
{{- if .Values.runtime.agentRunnerImage -}}
{{- .Values.runtime.agentRunnerImage -}}
{{- else if .Values.runner.image.repository -}}
{{- include "agents.image" (dict "root" . "own" .Values.runner.image "base" (dict "repository" "" "tag" "" "digest" "")) -}}
{{- else if not .Values.runtime.agentImage -}}
{{- include "agents.componentImage" (dict "root" . "component" "controllers") -}}
{{- end -}}
{{- end -}}

{{/* Image pull secrets as Kubernetes writes them, as JSON. */}}
{{- define "agents.pullSecrets" -}}
{{- $found := list -}}
{{- range . -}}{{- $found = append $found (ternary . (dict "name" .) (kindIs "map" .)) -}}{{- end -}}
{{- $found | toJson -}}
{{- end -}}

{{/* The namespaces that are looked after, as a JSON list: the union of the three, or ["*"]. */}}
{{- define "agents.namespaces" -}}
{{- $found := list -}}
{{- range list .Values.controller .Values.orchestrationController .Values.supportingController -}}
{{- if .enabled -}}
{{- $found = concat $found (default (list (include "agents.namespace" $)) .namespaces) -}}
{{- end -}}
{{- end -}}
{{- if has "*" $found -}}["*"]{{- else -}}{{- $found | uniq | sortAlpha | toJson -}}{{- end -}}
{{- end -}}
