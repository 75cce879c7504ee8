{{- define "gateway.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{/* Labels of an object. Argument: dict "root" $ "component" name */}}
{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: inference-gateway
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "gateway.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* 65 % of the memory limit in MiB, for the heap. Argument: the limit, in Mi or Gi */}}
{{- define "gateway.heapMiB" -}}
{{- $amount := regexFind "^[0-9]+" . | int -}}
{{- if hasSuffix "Gi" . -}}{{- $amount = mul $amount 1024 -}}{{- end -}}
{{- div (mul $amount 65) 100 -}}
{{- end }}

{{/* Settings of the values, as environment variables. Numbers of YAML are floats: whole ones must not become 1e+06. */}}
{{- define "gateway.settings" -}}
{{- $known := .Files.Get "files/settings.env" }}
{{- range $name, $value := .Values.config }}
{{- if not (regexMatch (printf "(?m)^# %s=" $name) $known) }}
{{- fail (printf "config.%s is not a setting of .env.example" $name) }}
{{- end }}
- name: {{ $name }}
  value: {{ if kindIs "float64" $value }}{{ ternary ($value | int64 | toString) ($value | toString) (eq $value (floor $value)) | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end }}
- name: MIGRATE_ON_START
  value: 'false'
{{- end }}

{{/* The container of a process. Argument: dict "root" $ "component" name "resources" resources */}}
{{- define "gateway.container" -}}
image: {{ include "gateway.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
envFrom:
  - secretRef: { name: {{ required "secrets.existingSecret is required" .root.Values.secrets.existingSecret }} }
resources: {{- toYaml .resources | nindent 2 }}
volumeMounts:
  - { name: temporary, mountPath: /tmp }
  - { name: data, mountPath: /data }
  {{- if and .root.Values.catalog (ne .component "migrate") }}
  - { name: catalog, mountPath: /catalog, readOnly: true }
  {{- end }}
{{- end }}

{{- define "gateway.volumes" -}}
- { name: temporary, emptyDir: {} }
- { name: data, emptyDir: {} }
{{- if and .root.Values.catalog (ne .component "migrate") }}
- { name: catalog, configMap: { name: {{ include "gateway.name" .root }}-catalog } }
{{- end }}
{{- end }}

{{- define "gateway.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "gateway.scheduling" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - { name: {{ . }} }
  {{- end }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if and .root.Values.topologySpread (ne .component "migrate") }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "gateway.selector" . | nindent 8 }}
{{- end }}
{{- end }}

{{/* Readiness does not ask servers that all replicas share: without Redis all of them would leave the service at once. */}}
{{- define "gateway.probes" -}}
startupProbe:
  httpGet: { path: /live, port: management }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /live, port: management }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /serving, port: management }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}
