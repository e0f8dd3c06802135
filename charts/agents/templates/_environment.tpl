{{/* The environment of a process: one list, each name once, sorted.

Weakest first: values of the table (files/environment.json), env.vars, the component's env.vars, env.secrets,
env.config, env.extra. What the chart alone can know is last, and refused elsewhere (validation). */}}

{{/* A value as a text: whole numbers without an exponent, switches as true and false, lists and objects as JSON. */}}
{{- define "agents.text" -}}
{{- if kindIs "bool" . -}}
{{- printf "%t" . -}}
{{- else if or (kindIs "float64" .) (kindIs "int64" .) (kindIs "int" .) -}}
{{- if eq (float64 (int64 .)) (float64 .) -}}{{- printf "%d" (int64 .) -}}{{- else -}}{{- toString . -}}{{- end -}}
{{- else if or (kindIs "map" .) (kindIs "slice" .) -}}
{{- toJson . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{/* What the values say for a row of the table, as JSON {"text": ...}; {} if they say nothing. */}}
{{- define "agents.rowValue" -}}
{{- $values := .root.Values -}}{{- $row := .row -}}
{{- $node := $values -}}{{- $found := true -}}
{{- range splitList "." $row.value -}}
{{- if and $found (kindIs "map" $node) (hasKey $node .) -}}{{- $node = index $node . -}}{{- else -}}{{- $found = false -}}{{- end -}}
{{- end -}}
{{- if eq $row.value "runner.image" -}}
{{- $node = include "agents.runnerImage" .root -}}
{{- else if eq $row.value "controller.jobTtlSecondsAfterFinished" -}}
{{- if and (hasKey $values.controller "jobTtlSeconds") (ne (toString $values.controller.jobTtlSeconds) "") -}}
{{- $node = $values.controller.jobTtlSeconds -}}{{- $found = true -}}
{{- end -}}
{{- else if eq $row.value "controller.defaultWorkload.serviceAccountName" -}}
{{- if and (not $node) $values.runnerServiceAccount.setAsDefault (ne (include "agents.namespaces" .root) "[\"*\"]") -}}
{{- $node = include "agents.runnerServiceAccountName" .root -}}
{{- end -}}
{{- else if eq $row.value "controller.defaultWorkload.imagePullSecrets" -}}
{{- $ofImage := $values.runner.image.pullSecrets -}}
{{- if not (or $values.runtime.agentRunnerImage $values.runner.image.repository $values.runtime.agentImage) -}}
{{- $ofImage = default (default $values.image.pullSecrets $values.controllers.image.pullSecrets) $ofImage -}}
{{- end -}}
{{- $node = include "agents.pullSecrets" (default $ofImage $node) | fromJsonArray -}}
{{- end -}}
{{- if or (not $found) (kindIs "invalid" $node) -}}
{{- ternary (dict "text" "never") dict (eq $row.form "seconds or never") | toJson -}}
{{- else if and (or (kindIs "map" $node) (kindIs "slice" $node)) (empty $node) -}}
{}
{{- else if and (kindIs "slice" $node) (eq $row.form "namespaces") -}}
{{- dict "text" (join "," $node) | toJson -}}
{{- else -}}
{{- $text := include "agents.text" $node -}}
{{- if eq $text "" -}}{}{{- else -}}{{- dict "text" $text | toJson -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/* The variables that the chart alone sets, as JSON: name to entry. */}}
{{- define "agents.ownVariables" -}}
{{- $own := dict "JANGAR_POD_NAMESPACE" (dict "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.namespace"))) -}}
{{- if eq .process "controllers" -}}
{{- $_ := set $own "JANGAR_HEALTH_ADDRESS" (dict "value" "0.0.0.0:8081") -}}
{{- else -}}
{{- $_ := set $own "PORT" (dict "value" "8080") -}}
{{- end -}}
{{- $accounts := list -}}
{{- range list "controllers" "controlPlane" -}}
{{- $accounts = append $accounts (include "agents.serviceAccountName" (dict "root" $.root "component" .)) -}}
{{- end -}}
{{- $_ := set $own "JANGAR_OWN_SERVICE_ACCOUNTS" (dict "value" ($accounts | uniq | join ",")) -}}
{{- $_ := set $own "HOME" (dict "value" "/tmp") -}}
{{- $own | toJson -}}
{{- end -}}

{{- define "agents.environment" -}}
{{- $root := .root -}}{{- $process := .process -}}{{- $values := .root.Values -}}
{{- $vars := dict -}}
{{- range $root.Files.Get "files/environment.json" | fromJsonArray -}}
{{- if has $process .processes -}}
{{- $value := include "agents.rowValue" (dict "root" $root "row" .) | fromJson -}}
{{- if hasKey $value "text" -}}{{- $_ := set $vars .name (dict "value" $value.text) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- with include "agents.databaseSecretName" $root -}}
{{- $made := or $values.database.createSecret.enabled (not $values.database.secretRef.name) -}}
{{- $key := ternary "url" (default "url" $values.database.secretRef.key) $made -}}
{{- $_ := set $vars "DATABASE_URL" (dict "valueFrom" (dict "secretKeyRef" (dict "name" . "key" $key))) -}}
{{- end -}}
{{- with $values.controlPlane.trustedProxy.secretRef -}}
{{- if and .name (eq $process "control-plane") -}}
{{- $_ := set $vars "JANGAR_TRUSTED_PROXY_SECRET" (dict "valueFrom" (dict "secretKeyRef" (dict "name" .name "key" .key))) -}}
{{- end -}}
{{- end -}}
{{- if $values.database.caSecret.name -}}
{{- $_ := set $vars "PGSSLROOTCERT" (dict "value" (printf "/etc/jangar/ca/%s" $values.database.caSecret.key)) -}}
{{- end -}}
{{- with $values.kubernetesApi.host -}}{{- $_ := set $vars "KUBERNETES_SERVICE_HOST" (dict "value" .) -}}{{- end -}}
{{- with $values.kubernetesApi.port -}}{{- $_ := set $vars "KUBERNETES_SERVICE_PORT" (dict "value" (include "agents.text" .)) -}}{{- end -}}
{{- range $name, $value := $values.env.vars -}}
{{- $_ := set $vars $name (dict "value" (include "agents.text" $value)) -}}
{{- end -}}
{{- range $name, $value := (index $values (ternary "controllers" "controlPlane" (eq $process "controllers"))).env.vars -}}
{{- $_ := set $vars $name (dict "value" (include "agents.text" $value)) -}}
{{- end -}}
{{- range $values.env.secrets -}}
{{- $_ := set $vars .name (dict "valueFrom" (dict "secretKeyRef" (dict "name" .secretName "key" (default "value" .key)))) -}}
{{- end -}}
{{- range $values.env.config -}}
{{- $_ := set $vars .name (dict "valueFrom" (dict "configMapKeyRef" (dict "name" .configMapName "key" (default .name .key)))) -}}
{{- end -}}
{{- range $values.env.extra -}}
{{- $_ := set $vars .name (dict "value" .value) -}}
{{- end -}}
{{- range $name, $entry := include "agents.ownVariables" (dict "root" $root "process" $process) | fromJson -}}
{{- $_ := set $vars $name $entry -}}
{{- end -}}
{{- $entries := list -}}
{{- range $name := keys $vars | sortAlpha -}}
{{- $entries = append $entries (merge (dict "name" $name) (index $vars $name)) -}}
{{- end -}}
{{- $entries | toYaml -}}
{{- end -}}

{{- define "agents.environmentSources" -}}
{{- $sources := list -}}
{{- range .Values.envFromConfigMapRefs -}}
{{- $ref := ternary . (dict "name" .) (kindIs "map" .) -}}
{{- $sources = append $sources (dict "configMapRef" (omit $ref "keys")) -}}
{{- end -}}
{{- range .Values.envFromSecretRefs -}}
{{- $ref := ternary . (dict "name" .) (kindIs "map" .) -}}
{{- $sources = append $sources (dict "secretRef" (omit $ref "keys")) -}}
{{- end -}}
{{- if $sources -}}{{- $sources | toYaml -}}{{- end -}}
{{- end -}}
