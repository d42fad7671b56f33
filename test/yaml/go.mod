// What judges the YAML that inject writes: ./build compiles it with the reader
// that kubectl has, at the version pinned here, into a cache outside the tree.
module cluster-watcher/test/yaml

go 1.26.0

require sigs.k8s.io/yaml v1.6.0

require go.yaml.in/yaml/v2 v2.4.3 // indirect
