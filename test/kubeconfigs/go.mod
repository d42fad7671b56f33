module cluster-watcher/test/kubeconfigs

go 1.26.0
