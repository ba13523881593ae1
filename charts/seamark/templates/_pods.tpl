{{/* What every Pod of ours has in common. */}}
{{- define "seamark.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "seamark.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "seamark.container" -}}
image: {{ include "seamark.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  {{- include "seamark.containerSecurity" . | nindent 2 }}
{{- end }}

{{/* Takes a list: root, the component's values. */}}
{{- define "seamark.placement" -}}
{{- with (index . 0).Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with index . 1 }}
{{- with .nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Takes a list: root, component, the component's values. */}}
{{- define "seamark.podMetadata" -}}
labels:
  {{- include "seamark.labels" (list (index . 0) (index . 1)) | nindent 2 }}
  {{- with (index . 2).podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with (index . 2).podAnnotations }}
annotations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "seamark.probes" -}}
livenessProbe: {httpGet: {path: /healthz, port: health}, periodSeconds: 20, timeoutSeconds: 5, failureThreshold: 3}
readinessProbe: {httpGet: {path: /readyz, port: health}, periodSeconds: 5, timeoutSeconds: 5}
startupProbe: {httpGet: {path: /healthz, port: health}, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 60}
{{- end }}

{{/* The settings of families, for the processes that run them. Takes a list: root, families. */}}
{{- define "seamark.familyVariables" -}}
{{- $families := index . 1 -}}
{{- with index . 0 -}}
- name: SEAMARK_NAMESPACE
  value: {{ .Release.Namespace }}
{{- if has "dns" $families }}
- name: SEAMARK_DNS_SOURCES
  value: {{ join "," .Values.families.dns.sources | quote }}
{{- include "seamark.variables" (list "SEAMARK_" .Values.families.dns.settings) }}
{{- end }}
{{- if has "gateway" $families }}
- name: SEAMARK_GATEWAY_DATA_PLANE
  value: cluster
- name: SEAMARK_GATEWAY_NAMESPACE
  value: {{ .Release.Namespace }}
- name: SEAMARK_GATEWAY_WORKLOAD
  value: {{ .Values.families.gateway.workload }}
- name: SEAMARK_GATEWAY_SERVICE_TYPE
  value: {{ .Values.families.gateway.serviceType }}
- name: SEAMARK_GATEWAY_LOAD_BALANCER_CLASS
  value: {{ .Values.families.gateway.loadBalancerClass | quote }}
- name: SEAMARK_GATEWAY_IMAGE
  value: {{ .Values.families.gateway.image | quote }}
- name: SEAMARK_GATEWAY_XDS_ADDRESS
  value: {{ include "seamark.name" . }}-xds.{{ .Release.Namespace }}.svc:9977
- name: SEAMARK_GATEWAY_XDS_AUTHORITY
  value: {{ include "seamark.name" . }}-ca
{{- include "seamark.variables" (list "SEAMARK_" .Values.families.gateway.settings) }}
{{- end }}
{{- if or (has "score-orchestrator" $families) (has "score-mirror" $families) }}
- name: SEAMARK_SCORE_NAMESPACE
  value: {{ .Release.Namespace }}
{{- end }}
{{- if has "score-runtime" $families }}
- name: SEAMARK_SCORE_GATEWAY_NAMESPACES
  value: {{ .Release.Namespace }}
{{- end }}
{{- if has "loadbalancer" $families }}
- name: SEAMARK_LB_CLASS
  value: {{ .Values.families.loadbalancer.class | quote }}
- name: SEAMARK_LB_CLUSTER
  value: {{ .Values.families.loadbalancer.cluster | quote }}
- name: SEAMARK_LB_NAMESPACE
  value: {{ .Release.Namespace }}
- name: SEAMARK_LB_CROSS_NAMESPACE_UPSTREAMS
  value: {{ .Values.families.loadbalancer.crossNamespaceUpstreams | quote }}
- name: SEAMARK_LB_CROSS_NAMESPACE_BINDINGS
  value: {{ .Values.families.loadbalancer.crossNamespaceBindings | quote }}
- name: SEAMARK_LB_PROVIDER
  value: {{ include "seamark.edgeProvider" . }}
- name: SEAMARK_LB_API_URL
  value: {{ include "seamark.edgeUrl" . | quote }}
- name: SEAMARK_LB_API_KEY_FILE
  value: /etc/seamark/edge/api-key
- name: SEAMARK_LB_API_CA
  value: {{ if eq (include "seamark.edgeCa" .) "true" }}/etc/seamark/edge/ca.crt{{ else }}""{{ end }}
{{- include "seamark.variables" (list "SEAMARK_" .Values.families.loadbalancer.settings) }}
{{- end }}
{{- if has "bindings" $families }}
- name: SEAMARK_BINDINGS_EDGE
  value: {{ include "seamark.edgeProvider" . }}
- name: SEAMARK_BINDINGS_EDGE_URL
  value: {{ include "seamark.edgeUrl" . | quote }}
- name: SEAMARK_BINDINGS_EDGE_KEY_FILE
  value: /etc/seamark/edge/api-key
- name: SEAMARK_BINDINGS_EDGE_CA
  value: {{ if eq (include "seamark.edgeCa" .) "true" }}/etc/seamark/edge/ca.crt{{ else }}""{{ end }}
- name: SEAMARK_BINDINGS_NAMESPACE
  value: {{ .Release.Namespace }}
{{- include "seamark.variables" (list "SEAMARK_" .Values.families.bindings.settings) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whether the edge has a certificate of its own authority: the chart's edge always has. */}}
{{- define "seamark.edgeCa" -}}
{{- if .Values.edge.enabled }}true{{ else }}{{ .Values.externalEdge.ca }}{{ end -}}
{{- end }}

{{/* The files that families read. Takes a list: root, families, whether they may be missing. */}}
{{- define "seamark.familyVolumes" -}}
- name: tmp
  emptyDir: {}
{{- if has "gateway" (index . 1) }}
- name: xds
  secret: {secretName: {{ include "seamark.name" (index . 0) }}-xds, optional: {{ index . 2 }}}
{{- end }}
{{- if or (has "loadbalancer" (index . 1)) (has "bindings" (index . 1)) }}
- name: edge
  secret:
    {{- include "seamark.edgeItems" (list (index . 0) "api-key") | nindent 4 }}
    optional: {{ index . 2 }}
{{- end }}
{{- end }}

{{- define "seamark.familyMounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if has "gateway" (index . 1) }}
- {name: xds, mountPath: /etc/seamark/xds, readOnly: true}
{{- end }}
{{- if or (has "loadbalancer" (index . 1)) (has "bindings" (index . 1)) }}
- {name: edge, mountPath: /etc/seamark/edge, readOnly: true}
{{- end }}
{{- end }}

{{/* Settings that are secret. */}}
{{- define "seamark.familySecrets" -}}
{{- if and (has "dns" (index . 1)) (index . 0).Values.families.dns.secretName }}
envFrom:
  - secretRef: {name: {{ (index . 0).Values.families.dns.secretName }}}
{{- end }}
{{- end }}

{{/* Of the edge's Secret only what a part needs. Takes a list: root, key. */}}
{{- define "seamark.edgeItems" -}}
secretName: {{ include "seamark.edgeSecret" (index . 0) }}
items:
  - {key: {{ index . 1 }}, path: {{ index . 1 }}}
  {{- if eq (include "seamark.edgeCa" (index . 0)) "true" }}
  - {key: ca.crt, path: ca.crt}
  {{- end }}
{{- end }}

{{/* Takes a list: root, name, component, the component's values. */}}
{{- define "seamark.budget" -}}
{{- $root := index . 0 -}}
{{- with (index . 3).podDisruptionBudget }}
{{- if .enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ index $ 1 }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{ include "seamark.labels" (list $root (index $ 2)) | nindent 4 }}
spec:
  maxUnavailable: {{ .maxUnavailable }}
  selector:
    matchLabels: {{ include "seamark.selector" (list $root (index $ 2)) | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}
