# Writes a test of a day in a namespace of batch jobs: 24 clusters at a time, of half an hour each, of which
# one ends every 75 seconds. Its driver is deleted, it is abandoned and deleted, and the next one comes,
# until the evening, when no more do. In another namespace the drivers of 12 clusters complete all at once
# every half hour.
#
#   awk -f batch_day.awk                no alert may fire
#   awk -v surge=615 -f batch_day.awk   in that minute all drivers are deleted by mistake: that one does;
#                                       the test ends an hour later
BEGIN {
  day = surge ? surge + 60 : 24 * 60
  evening = surge ? day : day - 120
  for (slot = 0; slot < 24; slot++) {
    lived("batch", "job-" slot, "owner-absent")
    for (from = int(slot * 1.25); from < evening; from = lost + 4) {
      lost = from + 26
      if (surge && from < surge && surge < lost) lost = surge
      lives(from, lost)
    }
    tell()
  }
  for (slot = 0; slot < 12; slot++) {
    lived("waves", "wave-" slot, "completed")
    for (from = 0; from < evening; from += 30) lives(from, from + 26)
    tell()
  }
  print "rule_files: [cluster-watcher.rules.yml]"
  print "evaluation_interval: 1m"
  print "group_eval_order: [cluster-watcher.fleet, cluster-watcher.deletions, cluster-watcher.watchers]"
  print "tests:"
  print "- name: a day of batch jobs" (surge ? ", and a surge" : "")
  print "  interval: 1m"
  print "  input_series:"
  printf "%s", told
  print "  promql_expr_test:"
  print "  - expr: count by (alertname, namespace) (last_over_time(ALERTS{alertstate=\"firing\"}[1d]))"
  print "    eval_time: " day "m"
  if (!surge) {
    print "    exp_samples: []"
  } else {
    alert = "{alertname=\"ClusterWatcherManyClustersAbandoned\""
    print "    exp_samples: [{labels: '" alert "}', value: 1}, {labels: '" alert ",namespace=\"batch\"}', value: 1}]"
    print "  - expr: count(ALERTS{alertstate=\"firing\"})"
    print "    eval_time: " (surge + 2) "m"
    print "    exp_samples: [{labels: '{}', value: 2}]"
  }
}

# lived NAMESPACE NAME REASON: begins the series of the watchers of clusters that follow one another under
# this name.
function lived(namespace, name, why) {
  ns = namespace; pod = name "-m"; cluster = name; reason = why
  split("", values)
  until = 0
}
# lives FROM LOST: in use from that minute on, abandoned from LOST on, deleted a minute later, done after
# one more, and then its pod is gone.
function lives(from, lost,    kept) {
  gap = from > until ? "_x" (from - until) " " : ""
  until = lost + 4
  kept = lost - from
  add("up", "", always(1, kept))
  add("cluster_watcher_build_info", "", always(1, kept))
  add("cluster_watcher_cluster_info", ",cluster_name=\"" cluster "\",owner=\"pod/" cluster "\",owner_namespace=\"" ns "\"", always(1, kept))
  add("kube_pod_init_container_status_running", ",container=\"cluster-watcher\"", always(1, kept))
  add("process_start_time_seconds", "", always(from * 60, kept))
  add("cluster_watcher_dry_run", "", always(0, kept))
  add("cluster_watcher_surge", "", always(0, kept))
  add("cluster_watcher_last_definite_poll_timestamp_seconds", "", from * 60 "+60x" (kept + 2))
  add("cluster_watcher_owner_state", ",state=\"unknown\"", always(0, kept))
  add("cluster_watcher_refusals_total", ",reason=\"hold\"", always(0, kept))
  add("cluster_watcher_verdict", ",verdict=\"keep\",reason=\"active\"", first(1, kept) " 0 0 0")
  add("cluster_watcher_verdict", ",verdict=\"abandoned\",reason=\"" reason "\"", first(0, kept) " 1 1 1")
  add("cluster_watcher_abandoned_since_timestamp_seconds", "", first(0, kept) " " lost * 60 "x2")
  add("cluster_watcher_deletion_due_timestamp_seconds", "", first(0, kept) " " (lost * 60 + 30) " 0 0")
  add("cluster_watcher_phase", ",phase=\"watching\"", first(1, kept) " 1 0 0")
  add("cluster_watcher_phase", ",phase=\"deleting\"", first(0, kept) " 0 1 0")
  add("cluster_watcher_phase", ",phase=\"done\"", first(0, kept) " 0 0 1")
  add("cluster_watcher_members", ",state=\"remaining\"", first(0, kept) " 0 3 0")
  add("cluster_watcher_deletion_deadline_timestamp_seconds", "", first(0, kept) " 0 " (lost * 60 + 660) " 0")
}
function first(value, minutes) { return value "x" (minutes - 1) }
function always(value, kept) { return first(value, kept + 3) }
function add(metric, labels, more) {
  series = metric "{job=\"w\",instance=\"" pod "\",namespace=\"" ns "\",pod=\"" pod "\"" labels "}"
  values[series] = values[series] gap more " stale "
}
function tell() {
  for (series in values) told = told "  - {series: '" series "', values: " values[series] "}\n"
}
