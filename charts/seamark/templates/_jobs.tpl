{{/* A hook that is deleted when it ends, and whose output is shown when it fails. Takes the events. */}}
{{- define "seamark.hook" -}}
helm.sh/hook: {{ . }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
helm.sh/hook-output-log-policy: hook-failed
{{- end }}

{{/* The Pod of a Job. Takes a dict: root, account, component, args (a list). */}}
{{- define "seamark.job" -}}
metadata:
  labels: {{ include "seamark.labels" (list .root .component) | nindent 4 }}
spec:
  serviceAccountName: {{ .account }}
  automountServiceAccountToken: true
  restartPolicy: Never
  securityContext: {{ include "seamark.podSecurity" .root | nindent 4 }}
  {{- include "seamark.placement" (list .root .root.Values.controlPlane) | nindent 2 }}
  containers:
    - name: {{ .component }}
      {{- include "seamark.container" .root | nindent 6 }}
      args: {{ toYaml .args | nindent 8 }}
      {{- with .env }}
      env: {{ . | nindent 8 }}
      {{- end }}
      {{- with .secrets }}
      {{- . | nindent 6 }}
      {{- end }}
      resources: {requests: {cpu: 50m, memory: 128Mi}, limits: {memory: 512Mi}}
      volumeMounts: {{ .mounts | nindent 8 }}
  volumes: {{ .volumes | nindent 4 }}
{{- end }}

{{/* The arguments that identify this installation to `seamark install`. */}}
{{- define "seamark.installArguments" -}}
- install
- --name={{ include "seamark.name" . }}
- --namespace={{ .Release.Namespace }}
- --families={{ include "seamark.families" . }}
{{- if .Values.edge.enabled }}
- --edge
- --edge-host={{ include "seamark.edgeHost" . }}
{{- end }}
{{- end }}
