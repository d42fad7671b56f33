# Deployments for tests and benchmarks without a node: their pods are made, and stay Pending.
# shellcheck shell=bash

# deployment NAME LABELS [ACCOUNT]: one replica; LABELS is the inside of a YAML map.
deployment() {
  cat <<YAML
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, labels: {$2}}
spec:
  replicas: 1
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1${2:+, $2}}}
    spec: {serviceAccountName: "${3-default}", containers: [{name: main, image: example.invalid/none}]}
YAML
}
