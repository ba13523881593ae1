{{/* The installation's name: the release's, with "seamark" in it. */}}
{{- define "seamark.name" -}}
{{- if contains "seamark" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-seamark" (.Release.Name | trunc 32 | trimSuffix "-") }}{{ end -}}
{{- end }}

{{/* Labels by which Pods of a component are found; they never change. Takes a list: root, component. */}}
{{- define "seamark.selector" -}}
app.kubernetes.io/name: seamark
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "seamark.labels" -}}
{{ include "seamark.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "seamark.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* The parts of the control plane that are wanted, as the program names its families. */}}
{{- define "seamark.families" -}}
{{- $found := list -}}
{{- with .Values.families -}}
{{- if and .dns.enabled (not .dns.settings.dns_provider) (not .dns.secretName) }}{{ fail "families.dns.settings.dns_provider: choose rfc2136 (a name server), webhook (a provider of ExternalDNS), or memory (no name server at all, for trying it out)" }}{{ end -}}
{{- if .dns.enabled }}{{ $found = append $found "dns" }}{{ end -}}
{{- if .loadbalancer.enabled }}{{ $found = append $found "loadbalancer" }}{{ end -}}
{{- if .bindings.enabled }}{{ $found = append $found "bindings" }}{{ end -}}
{{- if .score.enabled }}{{ $found = concat $found (list "score-orchestrator" "score-registrar" "score-mirror") }}{{ end -}}
{{- if and .score.enabled .score.runtime }}{{ $found = append $found "score-runtime" }}{{ end -}}
{{- if .gateway.enabled }}{{ $found = append $found "gateway" }}{{ end -}}
{{- end -}}
{{- if not $found }}{{ fail "no family is enabled: set families.NAME.enabled=true for one of dns, gateway, score, loadbalancer, bindings" }}{{ end -}}
{{ join "," $found }}
{{- end }}

{{/* Which workloads run the control plane, and which families each: a YAML map. */}}
{{- define "seamark.workloads" -}}
{{- $families := splitList "," (include "seamark.families" .) -}}
{{- if .Values.controlPlane.perFamily -}}
{{- range $families }}
{{ include "seamark.name" $ }}-{{ . }}: {{ . | quote }}
{{- end -}}
{{- else -}}
{{ include "seamark.name" . }}: {{ join "," $families | quote }}
{{- end -}}
{{- end }}

{{/* The keys of generated/roles.yaml that a family needs, by its settings. Takes a list: root, family. */}}
{{- define "seamark.parts" -}}
{{- $family := index . 1 -}}{{- $values := (index . 0).Values.families -}}
{{- if eq $family "dns" -}}
{{- range $i, $source := $values.dns.sources }}{{ if $i }},{{ end }}dns.{{ $source }}{{ end -}}
{{- else if eq $family "gateway" -}}gateway.{{ $values.gateway.workload -}}
{{- else -}}{{ $family }}{{- end -}}
{{- end }}

{{/* Settings as environment variables. Takes a list: prefix, map. */}}
{{- define "seamark.variables" -}}
{{- $prefix := index . 0 -}}
{{- range $name, $value := index . 1 }}
- name: {{ printf "%s%s" $prefix (upper $name) }}
  value: {{ if kindIs "slice" $value }}{{ join "," $value | quote }}{{ else if and (kindIs "float64" $value) (eq (floor $value) $value) }}{{ int64 $value | quote }}{{ else }}{{ toString $value | quote }}{{ end }}
{{- end -}}
{{- end }}

{{/* The edge in use, if any. */}}
{{- define "seamark.edgeSecret" -}}
{{- if .Values.edge.enabled }}{{ include "seamark.name" . }}-edge{{ else }}{{ .Values.externalEdge.secretName }}{{ end -}}
{{- end }}
{{- define "seamark.edgeUrl" -}}
{{- if .Values.edge.enabled }}https://{{ include "seamark.name" . }}-edge-api.{{ .Release.Namespace }}.svc:4040{{ else }}{{ .Values.externalEdge.url }}{{ end -}}
{{- end }}
{{- define "seamark.edgeServer" -}}
{{- if .Values.edge.enabled }}{{ include "seamark.name" . }}-edge.{{ .Release.Namespace }}.svc:4443{{ else }}{{ .Values.externalEdge.agentServer }}{{ end -}}
{{- end }}
{{- define "seamark.edgeProvider" -}}
{{- if .Values.edge.enabled }}seamark{{ else }}{{ .Values.externalEdge.provider }}{{ end -}}
{{- end }}
{{- define "seamark.edgeHost" -}}
{{- .Values.edge.publicHost | default (printf "%s-edge.%s.svc" (include "seamark.name" .) .Release.Namespace) -}}
{{- end }}
