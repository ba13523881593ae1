{{/*
An account's rights: roles with the rules that were generated for these parts, bound to it. Takes a dict:
root, name (of the roles), account, parts (keys of generated/roles.yaml), component, hook (annotations, or nothing).
*/}}
{{- define "seamark.rights" -}}
{{- $root := .root -}}
{{- $generated := $root.Files.Get "generated/roles.yaml" | fromYaml -}}
{{- $everywhere := list -}}{{- $here := list -}}
{{- range .parts -}}
{{- $part := get $generated . -}}
{{- if not $part }}{{ fail (printf "there are no generated roles for %s" .) }}{{ end -}}
{{- $everywhere = concat $everywhere $part.everywhere -}}
{{- $here = concat $here $part.here -}}
{{- end -}}
{{- $name := include "seamark.name" $root -}}
{{- if $everywhere }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .name }}
  labels: {{ include "seamark.labels" (list $root .component) | nindent 4 }}
  {{- with .hook }}
  annotations: {{ dict "helm.sh/hook-weight" "-10" | merge (deepCopy .) | toYaml | nindent 4 }}
  {{- end }}
rules: {{ $everywhere | uniq | toYaml | replace "@" $name | nindent 2 }}
{{- include "seamark.bound" (merge (dict "kind" "ClusterRole" "weight" "-9") .) }}
{{- end }}
{{- if $here }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{ include "seamark.labels" (list $root .component) | nindent 4 }}
  {{- with .hook }}
  annotations: {{ dict "helm.sh/hook-weight" "-8" | merge (deepCopy .) | toYaml | nindent 4 }}
  {{- end }}
rules: {{ $here | uniq | toYaml | replace "@" $name | nindent 2 }}
{{- include "seamark.bound" (merge (dict "kind" "Role" "weight" "-7") .) }}
{{- end }}
{{- end }}

{{/* The binding of a role; of the same name, or of `as` where several accounts have one role. */}}
{{- define "seamark.bound" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .as | default .name }}
  {{- if eq .kind "Role" }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels: {{ include "seamark.labels" (list .root .component) | nindent 4 }}
  {{- with .hook }}
  annotations: {{ dict "helm.sh/hook-weight" $.weight | merge (deepCopy .) | toYaml | nindent 4 }}
  {{- end }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ .kind }}, name: {{ .name }}}
subjects:
  - {kind: ServiceAccount, name: {{ .account }}, namespace: {{ .root.Release.Namespace }}}
{{- end }}

{{/* An account. Takes a dict: root, account, component, hook. */}}
{{- define "seamark.account" }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .account }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{ include "seamark.labels" (list .root .component) | nindent 4 }}
  {{- with .hook }}
  annotations: {{ dict "helm.sh/hook-weight" "-6" | merge (deepCopy .) | toYaml | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}
