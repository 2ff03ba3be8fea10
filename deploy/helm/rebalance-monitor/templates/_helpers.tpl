{{- define "rebalance-monitor.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "rebalance-monitor.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "rebalance-monitor.labels" -}}
{{ include "rebalance-monitor.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "rebalance-monitor.serviceAccount" -}}
{{- $own := include "rebalance-monitor.name" . -}}
{{- .Values.serviceAccount.name | default (ternary $own "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- /* What PodMonitor and ServiceMonitor say alike of an endpoint; `.` is the section of the values. */ -}}
{{- define "rebalance-monitor.endpoint" -}}
port: metrics
path: /metrics
interval: {{ .interval }}
honorLabels: {{ .honorLabels }}
{{- with .relabelings }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Ports of a NetworkPolicy, from their numbers. */ -}}
{{- define "rebalance-monitor.tcp" -}}
ports:
  {{- range . }}
  - protocol: TCP
    port: {{ . }}
  {{- end }}
{{- end -}}
