{{/* The workload of a component: a Deployment, a Rollout, or for a while both. */}}

{{/* Whether a component's kind is Rollout: what progressiveDelivery says, for the pods that run the controllers too. */}}
{{- define "agents.isRollout" -}}
{{- $delivery := .root.Values.progressiveDelivery -}}
{{- $chosen := index $delivery.components .component -}}
{{- if and (eq .component "controlPlane") (not .root.Values.controllers.enabled) -}}
{{- $chosen = or $chosen $delivery.components.controllers -}}
{{- end -}}
{{- if $chosen -}}{{- if $delivery.enabled -}}true{{- else if ne $delivery.migration "none" -}}back{{- end -}}{{- end -}}
{{- end -}}

{{/* Which kinds are rendered, by comma, the one that does the work first. */}}
{{- define "agents.kinds" -}}
{{- $is := include "agents.isRollout" . -}}
{{- $moving := ne .root.Values.progressiveDelivery.migration "none" -}}
{{- if eq $is "true" -}}Rollout{{ if $moving }},Deployment{{ end }}
{{- else if eq $is "back" -}}Deployment,Rollout
{{- else -}}Deployment
{{- end -}}
{{- end -}}

{{/* The kind that does the work: what autoscalers and people look at. */}}
{{- define "agents.kind" -}}
{{- include "agents.kinds" . | splitList "," | first -}}
{{- end -}}

{{- define "agents.apiVersion" -}}
{{- ternary "argoproj.io/v1alpha1" "apps/v1" (eq . "Rollout") -}}
{{- end -}}

{{/* Whether a component is installed as pods of its own. */}}
{{- define "agents.isInstalled" -}}
{{- if eq .component "controllers" -}}{{- if .root.Values.controllers.enabled -}}true{{- end -}}
{{- else if or .root.Values.controlPlane.enabled (not .root.Values.controllers.enabled) -}}true
{{- end -}}
{{- end -}}

{{- define "agents.replicas" -}}
{{- if eq .component "controllers" -}}{{- int64 .root.Values.controllers.replicaCount -}}
{{- else if kindIs "invalid" .root.Values.controlPlane.replicaCount -}}{{- int64 .root.Values.replicaCount -}}
{{- else -}}{{- int64 .root.Values.controlPlane.replicaCount -}}
{{- end -}}
{{- end -}}

{{- define "agents.autoscaling" -}}
{{- ternary .root.Values.controllers.autoscaling .root.Values.autoscaling (eq .component "controllers") | toJson -}}
{{- end -}}

{{- define "agents.number" -}}
{{- if kindIs "string" . -}}{{- . | quote -}}{{- else -}}{{- int64 . -}}{{- end -}}
{{- end -}}

{{- define "agents.strategy" -}}
{{- $strategy := deepCopy .root.Values.deploymentStrategy -}}
{{- range $key, $value := (index .root.Values .component).deploymentStrategy -}}
{{- if eq $key "rollingUpdate" -}}
{{- range $name, $each := $value -}}{{- $_ := set $strategy.rollingUpdate $name $each -}}{{- end -}}
{{- else -}}{{- $_ := set $strategy $key $value -}}{{- end -}}
{{- end -}}
{{- $strategy | toJson -}}
{{- end -}}

{{- define "agents.workloadSpec" -}}
{{- $values := .root.Values -}}
{{- $life := deepCopy $values.deploymentLifecycle -}}
{{- range $key, $value := (index $values .component).deploymentLifecycle -}}{{- $_ := set $life $key $value -}}{{- end -}}
{{- $scaling := include "agents.autoscaling" . | fromJson -}}
{{- $works := eq .kind (include "agents.kind" .) -}}
{{- if not $works }}
replicas: {{ ternary 0 (include "agents.replicas" . | int64) (eq $values.progressiveDelivery.migration "cutover") }}
{{- else if not $scaling.enabled }}
replicas: {{ include "agents.replicas" . }}
{{- end }}
minReadySeconds: {{ int64 $life.minReadySeconds }}
progressDeadlineSeconds: {{ int64 $life.progressDeadlineSeconds }}
revisionHistoryLimit: {{ int64 $life.revisionHistoryLimit }}
selector:
  matchLabels:
    {{- include "agents.selectorLabels" . | nindent 4 }}
strategy:
{{- if eq .kind "Rollout" }}
  {{- $delivery := $values.progressiveDelivery }}
  canary:
    maxSurge: {{ include "agents.number" $delivery.maxSurge }}
    maxUnavailable: {{ include "agents.number" $delivery.maxUnavailable }}
    {{- with $delivery.canaryMetadata }}
    canaryMetadata:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $delivery.stableMetadata }}
    stableMetadata:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- if and $delivery.analysis.enabled (include "agents.runsControllers" .) }}
    analysis:
      templates:
        - templateName: {{ include "agents.componentName" . }}
      args:
        - name: canary-hash
          valueFrom:
            podTemplateHashValue: Latest
    {{- end }}
    {{- with $delivery.canarySteps }}
    steps:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- else }}
  {{- $strategy := include "agents.strategy" . | fromJson }}
  type: {{ $strategy.type }}
  {{- if eq $strategy.type "RollingUpdate" }}
  rollingUpdate:
    maxSurge: {{ include "agents.number" $strategy.rollingUpdate.maxSurge }}
    maxUnavailable: {{ include "agents.number" $strategy.rollingUpdate.maxUnavailable }}
  {{- end }}
{{- end }}
template:
  {{- include "agents.podTemplate" . | nindent 2 }}
{{- end -}}

{{/* Whether a component's pods run the controllers. */}}
{{- define "agents.runsControllers" -}}
{{- if or (eq .component "controllers") (not .root.Values.controllers.enabled) -}}true{{- end -}}
{{- end -}}

{{- define "agents.workload" -}}
{{- $call := . -}}
{{- if include "agents.isInstalled" . -}}
{{- range $kind := include "agents.kinds" . | splitList "," }}
---
apiVersion: {{ include "agents.apiVersion" $kind }}
kind: {{ $kind }}
metadata:
  name: {{ include "agents.componentName" $call }}
  namespace: {{ include "agents.namespace" $call.root }}
  labels:
    {{- include "agents.labels" $call | nindent 4 }}
spec:
  {{- include "agents.workloadSpec" (merge (dict "kind" $kind) $call) | trim | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}
