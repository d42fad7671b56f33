{{- /* The image, as one text. */ -}}
{{- define "cluster-watcher.image" -}}
{{- $image := .Values.image -}}
{{- if kindIs "string" $image -}}{{ $image }}
{{- else if not $image.repository -}}
{{- fail "image.repository is needed: the image is published nowhere. Push it to your registry (docs/injection.md, The image), and name that: --set image.repository=REGISTRY/cluster-watcher" -}}
{{- else if $image.digest -}}{{ $image.repository }}@{{ $image.digest }}
{{- else -}}{{ $image.repository }}:{{ default .Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}

{{- /* The labels that Kubernetes recommends, as JSON, with more of them: list $ MORE. */ -}}
{{- define "cluster-watcher.labels" -}}
{{- $top := first . -}}
{{- merge (dict) (last .) (dict "app.kubernetes.io/name" "cluster-watcher" "app.kubernetes.io/instance" $top.Release.Name "app.kubernetes.io/version" $top.Chart.AppVersion "app.kubernetes.io/managed-by" $top.Release.Service "helm.sh/chart" (printf "%s-%s" $top.Chart.Name $top.Chart.Version)) | toJson -}}
{{- end -}}

{{- /* A quantity, such as 64Mi, as a number. */ -}}
{{- define "cluster-watcher.quantity" -}}
{{- mulf (regexFind "^[0-9.]+" . | float64) (get (dict "" 1.0 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0) (regexReplaceAll "^[0-9.]+" . "")) -}}
{{- end -}}
