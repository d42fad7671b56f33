// Writes what a Prometheus has stored of many sidecars into a directory that one can be started with: the
// metrics that rules read, scraped twice a minute for some hours, and for 40 minutes to come, in which
// the rules are to be evaluated. One in a hundred clusters is abandoned, one in two hundred is being
// deleted, as many were within the last hours, and one watcher in five hundred sees nothing.
//
//	series DIRECTORY SIDECARS HOURS
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

const (
	step  = 30 * time.Second
	ahead = 40 * time.Minute
	// What no rule looks back for longer than for half an hour is written no longer.
	short = 40 * time.Minute
)

type series struct {
	labels labels.Labels
	ref    storage.SeriesRef
	// Since the data begin: when it is scraped, and its value then.
	from, until time.Duration
	value       func(time.Duration) float64
}

type fleet struct {
	all   []series
	hours time.Duration
	from  time.Duration
	until time.Duration
	pod   []string
}

func (f *fleet) add(long bool, name string, value func(time.Duration) float64, more ...string) {
	from := f.from
	if !long && from < f.hours-short {
		from = f.hours - short
	}
	if from < f.until {
		all := append(append([]string{labels.MetricName, name}, f.pod...), more...)
		f.all = append(f.all, series{labels.FromStrings(all...), 0, from, f.until, value})
	}
}

func always(value float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return value }
}

func counts(each float64) func(time.Duration) float64 {
	return func(at time.Duration) float64 { return each * float64(at/step) }
}

// one adds a series for each word; the chosen one is 1.
func (f *fleet) one(long bool, name, label, chosen string, words []string, more ...string) {
	for _, word := range words {
		value := 0.0
		if word == chosen {
			value = 1
		}
		f.add(long, name, always(value), append([]string{label, word}, more...)...)
	}
}

var (
	outcomes = []string{"active", "scaled-to-zero", "absent", "replaced", "deleting", "completed", "unknown", "none"}
	buckets  = []string{"0.005", "0.025", "0.1", "0.5", "2.5", "+Inf"}
	keeps    = []string{"misconfigured", "shared", "owner-mismatch", "held", "unknown", "ambiguous", "driver-running",
		"owner-adopted", "shared-by-replicas", "active", "in-use"}
	abandons = []string{"owner-absent", "owner-deleting", "scaled-to-zero", "completed"}
	phases   = []string{"watching", "condemned", "deleting", "done"}
	refusals = []string{"hold", "conflict", "owner-back", "unknown", "in-use", "ambiguous", "driver-running", "uid-changed"}
	codes    = []string{"200", "201", "404", "409", "<error>"}
)

func (f *fleet) sidecar(number int, began time.Time) {
	f.from, f.until = 0, f.hours+ahead
	reason, phase, state := "active", "watching", "active"
	switch {
	case number%200 == 1:
		reason, phase, state = "owner-absent", "deleting", "absent"
	case number%200 == 3: // deleted in these hours, after a quarter of an hour
		reason, phase, state = "owner-absent", "done", "absent"
		f.from = f.hours * time.Duration(number/200%100) / 100
		f.until = f.from + 15*time.Minute
	case number%100 == 5:
		reason, state = "owner-absent", "absent"
	case number%500 == 7:
		reason, state = "unknown", "unknown"
	}
	n := strconv.Itoa(number)
	f.pod = []string{"container", "cluster-watcher", "endpoint", "watcher-metrics", "instance", "10.0.0." + n + ":9090",
		"job", "cluster-watcher/cluster-watcher", "namespace", "team-" + strconv.Itoa(number/40), "pod", "cluster-" + n + "-m-7d9f8b6c5-x2k4q"}
	f.add(false, "up", always(1))
	f.add(false, "cluster_watcher_build_info", always(1), "version", "0.1.0", "revision", "0a1b2c3")
	f.add(true, "cluster_watcher_cluster_info", always(1), "cluster_name", "cluster-"+n, "owner", "deployment.apps/driver-"+n, "owner_namespace", "team")
	f.one(false, "cluster_watcher_owner_state", "state", state, outcomes)
	for _, outcome := range outcomes {
		f.add(false, "cluster_watcher_polls_total", counts(6), "outcome", outcome)
	}
	for _, le := range buckets {
		f.add(false, "cluster_watcher_poll_duration_seconds_bucket", counts(6), "le", le)
	}
	f.one(false, "cluster_watcher_verdict", "reason", reason, keeps, "verdict", "keep")
	f.one(false, "cluster_watcher_verdict", "reason", reason, abandons, "verdict", "abandoned")
	f.one(true, "cluster_watcher_phase", "phase", phase, phases)
	for _, refusal := range refusals {
		f.add(true, "cluster_watcher_refusals_total", always(0), "reason", refusal)
	}
	since, remaining, deadline := 0.0, 0.0, 0.0
	if state == "absent" {
		since = float64(began.Add(f.from).Unix())
	}
	if phase == "deleting" {
		remaining, deadline = 3, float64(began.Add(f.hours+time.Hour).Unix())
	}
	f.add(false, "cluster_watcher_abandoned_since_timestamp_seconds", always(since))
	f.add(false, "cluster_watcher_deletion_due_timestamp_seconds", always(since))
	f.add(false, "cluster_watcher_deletion_deadline_timestamp_seconds", always(deadline))
	f.add(true, "cluster_watcher_members", always(remaining), "state", "remaining")
	f.add(true, "cluster_watcher_members", always(remaining), "state", "found")
	f.add(true, "cluster_watcher_dry_run", always(0))
	f.add(false, "cluster_watcher_surge", always(0))
	definite := func(at time.Duration) float64 { return float64(began.Add(at).Unix()) }
	if state == "unknown" {
		definite = always(float64(began.Unix()))
	}
	f.add(false, "cluster_watcher_last_definite_poll_timestamp_seconds", definite)
	for _, code := range codes {
		f.add(false, "rest_client_requests_total", counts(6), "code", code, "method", "GET")
	}
	f.add(false, "process_start_time_seconds", always(float64(began.Unix())))
	f.add(false, "process_cpu_seconds_total", counts(0.01))
	f.add(false, "process_resident_memory_bytes", always(3e6))
	// As kube-state-metrics tells them.
	f.add(false, "kube_pod_init_container_status_running", always(1))
	f.add(false, "kube_pod_init_container_status_restarts_total", always(0))
}

func run(directory string, sidecars int, hours time.Duration) error {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = int64(10 * 24 * time.Hour / time.Millisecond)
	db, err := tsdb.Open(directory, slog.New(slog.DiscardHandler), nil, options, nil)
	if err != nil {
		return err
	}
	began := time.Now().Add(-hours).Truncate(step)
	f := fleet{hours: hours}
	for number := 0; number < sidecars; number++ {
		f.sidecar(number, began)
	}
	samples := 0
	for at := time.Duration(0); at < hours+ahead; at += step {
		app := db.Appender(context.Background())
		for i := range f.all {
			s := &f.all[i]
			if at < s.from || at >= s.until {
				continue
			}
			if s.ref, err = app.Append(s.ref, s.labels, began.Add(at).UnixMilli(), s.value(at)); err != nil {
				return fmt.Errorf("%v: %w", s.labels, err)
			}
			samples++
		}
		if err := app.Commit(); err != nil {
			return err
		}
	}
	fmt.Println(len(f.all), "series,", samples, "samples")
	return db.Close()
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: series DIRECTORY SIDECARS HOURS")
		os.Exit(2)
	}
	sidecars, err := strconv.Atoi(os.Args[2])
	hours, err2 := strconv.Atoi(os.Args[3])
	if err != nil || err2 != nil {
		fmt.Fprintln(os.Stderr, "series: SIDECARS and HOURS are numbers")
		os.Exit(2)
	}
	if err := run(os.Args[1], sidecars, time.Duration(hours)*time.Hour); err != nil {
		fmt.Fprintln(os.Stderr, "series:", err)
		os.Exit(1)
	}
}
