{{/* The pod template of a component: the same text for a Deployment and for a Rollout. */}}

{{/* A probe of a container: what the component says over what both share, {} if it is switched off. */}}
{{- define "agents.probe" -}}
{{- $probe := deepCopy (index .root.Values .name) -}}
{{- range $key, $value := index (index .root.Values .component) .name -}}{{- $_ := set $probe $key $value -}}{{- end -}}
{{- if $probe.enabled -}}
{{- $own := ternary (dict "livenessProbe" "/livez" "readinessProbe" "/readyz" "startupProbe" "/livez") (dict "livenessProbe" "/health" "readinessProbe" "/ready" "startupProbe" "/health") (eq .component "controllers") -}}
{{ .name }}:
  httpGet:
    path: {{ default (index $own .name) $probe.path }}
    port: {{ ternary "health" "http" (eq .component "controllers") }}
  initialDelaySeconds: {{ int64 $probe.initialDelaySeconds }}
  periodSeconds: {{ int64 $probe.periodSeconds }}
  timeoutSeconds: {{ int64 $probe.timeoutSeconds }}
  failureThreshold: {{ int64 $probe.failureThreshold }}
{{- end -}}
{{- end -}}

{{/* One container: component is whose values count, process what it runs. */}}
{{- define "agents.container" -}}
{{- $values := .root.Values -}}{{- $component := index $values .component -}}
- name: {{ ternary "controllers" (include "agents.name" .root) (eq .component "controllers") }}
  image: {{ include "agents.componentImage" . | quote }}
  imagePullPolicy: {{ default $values.image.pullPolicy $component.image.pullPolicy }}
  command: [jangar]
  {{- if eq .component "controllers" }}
  args: [controllers]
  {{- else }}
  args: [control-plane, --host, 0.0.0.0, --namespace, {{ include "agents.namespaces" .root | fromJsonArray | join "," | quote }}]
  {{- end }}
  ports:
    {{- if eq .component "controllers" }}
    - name: health
      containerPort: 8081
    {{- else }}
    - name: http
      containerPort: 8080
    {{- end }}
      protocol: TCP
  env:
    {{- include "agents.environment" (dict "root" .root "process" (ternary "controllers" "control-plane" (eq .component "controllers"))) | nindent 4 }}
  {{- with include "agents.environmentSources" .root }}
  envFrom:
    {{- . | nindent 4 }}
  {{- end }}
  {{- range $name := list "startupProbe" "livenessProbe" "readinessProbe" }}
  {{- with include "agents.probe" (dict "root" $.root "component" $.component "name" $name) }}
  {{- . | trim | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- with default $values.lifecycle $component.lifecycle }}
  lifecycle:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  resources:
    {{- toYaml (default $values.resources $component.resources) | nindent 4 }}
  {{- with $values.containerSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - name: tmp
      mountPath: /tmp
    {{- if $values.database.caSecret.name }}
    - name: db-ca-cert
      mountPath: /etc/jangar/ca
      readOnly: true
    {{- end }}
    {{- with $values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "agents.checksums" -}}
{{- $found := dict -}}
{{- if .Values.rolloutChecksums.enabled -}}
{{- range $kind, $entries := dict "secret" .Values.rolloutChecksums.secrets "configmap" .Values.rolloutChecksums.configMaps -}}
{{- range $entries -}}
{{- $where := default (include "agents.namespace" $) .namespace -}}
{{- $key := printf "agents.proompteng.ai/checksum-%s-%s" $kind (printf "%s:%s/%s" $kind $where .name | sha256sum | trunc 24) -}}
{{- $_ := set $found $key .checksum -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $found | toJson -}}
{{- end -}}

{{- define "agents.podTemplate" -}}
{{- $values := .root.Values -}}{{- $component := index $values .component -}}
{{- $both := and (eq .component "controlPlane") (not $values.controllers.enabled) -}}
{{- $annotations := include "agents.checksums" .root | fromJson -}}
{{- range $key, $value := $values.podAnnotations -}}{{- $_ := set $annotations $key $value -}}{{- end -}}
{{- range $key, $value := $component.podAnnotations -}}{{- $_ := set $annotations $key $value -}}{{- end -}}
{{- if eq (include "agents.databaseSecretName" .root) (default (printf "%s-db" (include "agents.fullname" .root)) $values.database.createSecret.name) -}}
{{- $_ := set $annotations "checksum/database" (sha256sum $values.database.url) -}}
{{- end -}}
{{- $labels := dict -}}
{{- range $key, $value := $values.podLabels -}}{{- $_ := set $labels $key $value -}}{{- end -}}
{{- range $key, $value := $component.podLabels -}}{{- $_ := set $labels $key $value -}}{{- end -}}
{{- range $key, $value := include "agents.labels" . | fromYaml -}}{{- if ne $key "helm.sh/chart" -}}{{- $_ := set $labels $key $value -}}{{- end -}}{{- end -}}
{{- $selector := dict "matchLabels" (include "agents.selectorLabels" . | fromYaml) -}}
metadata:
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  labels:
    {{- toYaml $labels | nindent 4 }}
spec:
  serviceAccountName: {{ include "agents.serviceAccountName" . }}
  automountServiceAccountToken: true
  enableServiceLinks: false
  {{- $grace := $values.terminationGracePeriodSeconds }}
  {{- if not (kindIs "invalid" $component.terminationGracePeriodSeconds) }}{{ $grace = $component.terminationGracePeriodSeconds }}{{ end }}
  terminationGracePeriodSeconds: {{ int64 $grace }}
  {{- with default $values.image.pullSecrets $component.image.pullSecrets }}
  imagePullSecrets:
    {{- include "agents.pullSecrets" . | fromJsonArray | toYaml | nindent 4 }}
  {{- end }}
  {{- with default $values.priorityClassName $component.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with default $values.nodeSelector $component.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with default $values.tolerations $component.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  affinity:
    {{- with default $values.affinity $component.affinity }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              {{- toYaml $selector | nindent 14 }}
    {{- end }}
  {{- with default $values.topologySpreadConstraints $component.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range . }}
    - {{ merge (deepCopy .) (dict "labelSelector" $selector) | toYaml | nindent 6 | trim }}
    {{- end }}
  {{- end }}
  containers:
    {{- include "agents.container" . | nindent 4 }}
    {{- if $both }}
    {{- include "agents.container" (dict "root" .root "component" "controllers") | nindent 4 }}
    {{- end }}
  volumes:
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
    {{- if $values.database.caSecret.name }}
    - name: db-ca-cert
      secret:
        secretName: {{ $values.database.caSecret.name }}
    {{- end }}
    {{- range $values.extraVolumes }}
    {{- $volume := ternary (merge (dict "name" .name) (default dict .volume)) . (hasKey . "volume") }}
    - {{ toYaml $volume | nindent 6 | trim }}
    {{- end }}
{{- end -}}
