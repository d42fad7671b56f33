# What a node could leave behind on the machine, and what to show when a test fails.
# shellcheck shell=bash disable=SC2154

# machine: prints the state that must be the same before a node is started and after it is stopped.
machine() {
  local path process
  echo "addresses:"
  ip -o address show | sed -E 's/valid_lft.*//'
  ip route show table all | sort
  echo "forwarding: $(cat /proc/sys/net/ipv4/ip_forward)"
  echo "mounts:"
  awk -v dir="$work/" 'index($5, dir) == 1 || $5 ~ "/netns/" { print $5 }' /proc/self/mountinfo | sort
  echo "cgroups:"
  find /sys/fs/cgroup -maxdepth 3 -type d -name 'kubepods*'
  echo "files:"
  for path in /run/containerd /run/netns /var/lib/cni /var/lib/kubelet /var/log/containers \
    /var/log/pods /opt/containerd; do
    [[ ! -e $path ]] || find "$path"
  done
  echo "processes:"
  for process in /proc/[0-9]*; do
    tr '\0' ' ' <"$process/cmdline" |
      grep -E "^[^ ]*(containerd|shim[^ ]*|runc|kubelet|kube-scheduler) .*$work/" || :
  done 2>/dev/null
}

# logs: the last lines of the sidecars' and the kubelet's logs, if they still exist.
logs() {
  local log
  kubectl get pods -A -o wide || :
  kubectl get events -A --sort-by=.lastTimestamp | tail -n 20 || :
  find "$kubernetes/node/logs" -name '*.log' -path '*cluster-watcher*' 2>/dev/null | while read -r log; do
    echo "# ${log#"$kubernetes/node/logs/"}"
    tail -n 20 "$log"
  done
  grep -E '^[EW]' "$kubernetes/kubelet.log" | tail -n 20 || :
}
