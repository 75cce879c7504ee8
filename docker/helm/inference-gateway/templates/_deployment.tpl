{{/* A Deployment of one kind of process. Argument: dict "root" $ "component" name "values" values "args" list "ports" map "environment" map */}}
{{- define "gateway.deployment" -}}
{{- $root := .root -}}
{{- $values := .values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "gateway.name" $root }}-{{ .component }}
  labels: {{- include "gateway.labels" . | nindent 4 }}
spec:
  {{- if eq $values.autoscaling.type "none" }}
  replicas: {{ $values.replicas }}
  {{- end }}
  minReadySeconds: {{ $root.Values.rollout.minReadySeconds }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: {{ $root.Values.rollout.maxSurge }}
      maxUnavailable: {{ $root.Values.rollout.maxUnavailable }}
  selector:
    matchLabels: {{- include "gateway.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "gateway.labels" . | nindent 8 }}
      annotations:
        checksum/catalog: {{ toYaml $root.Values.catalog | sha256sum }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "gateway.name" $root }}
      automountServiceAccountToken: false
      securityContext: {{- include "gateway.podSecurity" . | nindent 8 }}
      terminationGracePeriodSeconds: {{ add (div (add $root.Values.drainTimeoutMs $root.Values.shutdownDelayMs) 1000) 30 }}
      {{- include "gateway.scheduling" . | nindent 6 }}
      containers:
        - name: {{ .component }}
          {{- include "gateway.container" (dict "root" $root "component" .component "resources" $values.resources) | nindent 10 }}
          args: {{ toJson .args }}
          ports:
            {{- range $name, $port := .ports }}
            - { name: {{ $name }}, containerPort: {{ $port }} }
            {{- end }}
          env:
            {{- include "gateway.settings" $root | nindent 12 }}
            - { name: DRAIN_TIMEOUT_MS, value: {{ $root.Values.drainTimeoutMs | int64 | toString | quote }} }
            - { name: SHUTDOWN_DELAY_MS, value: {{ $root.Values.shutdownDelayMs | int64 | toString | quote }} }
            - { name: NODE_OPTIONS, value: '--max-old-space-size={{ include "gateway.heapMiB" $values.resources.limits.memory }}' }
            {{- if $root.Values.catalog }}
            - { name: CATALOG_DIR, value: /catalog }
            {{- end }}
            {{- range $name, $value := .environment }}
            - { name: {{ $name }}, value: {{ $value | quote }} }
            {{- end }}
          {{- include "gateway.probes" . | nindent 10 }}
      volumes: {{- include "gateway.volumes" . | nindent 8 }}
{{- end }}
