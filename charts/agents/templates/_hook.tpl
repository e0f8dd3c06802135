{{/* The pods of hooks: restricted like all others, with the image of the controllers. */}}
{{- define "agents.hookPodSpec" -}}
restartPolicy: Never
serviceAccountName: {{ .account }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- $values := .root.Values }}
{{- with default $values.image.pullSecrets $values.controllers.image.pullSecrets }}
imagePullSecrets:
  {{- include "agents.pullSecrets" . | fromJsonArray | toYaml | nindent 2 }}
{{- end }}
{{- with $values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default $values.nodeSelector $values.controllers.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default $values.tolerations $values.controllers.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* One container of a hook. */}}
{{- define "agents.hookContainer" -}}
- name: {{ .name }}
  image: {{ include "agents.componentImage" (dict "root" .root "component" "controllers") | quote }}
  imagePullPolicy: {{ default .root.Values.image.pullPolicy .root.Values.controllers.image.pullPolicy }}
  command:
    {{- toYaml .command | nindent 4 }}
  env:
    - name: HOME
      value: /tmp
    {{- with .root.Values.kubernetesApi.host }}
    - name: KUBERNETES_SERVICE_HOST
      value: {{ . | quote }}
    {{- end }}
    {{- with .root.Values.kubernetesApi.port }}
    - name: KUBERNETES_SERVICE_PORT
      value: {{ include "agents.text" . | quote }}
    {{- end }}
  resources:
    requests: {cpu: 50m, memory: 128Mi}
    limits: {cpu: "1", memory: 256Mi}
  {{- with .root.Values.containerSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - name: tmp
      mountPath: /tmp
    {{- with .files }}
    - name: files
      mountPath: {{ . }}
      readOnly: true
    {{- end }}
{{- end -}}

{{- define "agents.uninstallHook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
argocd.argoproj.io/hook: PreDelete
argocd.argoproj.io/sync-wave: {{ . | quote }}
argocd.argoproj.io/hook-delete-policy: BeforeHookCreation,HookSucceeded
{{- end -}}

{{- define "agents.crdHook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
