// The program under test as a child process, seen from outside: metrics, health, log and exit code.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/kube/curl_transport.h"
#include "test/integration/process.h"

namespace cluster_watcher::integration {

class Watcher {
 public:
  // Starts `arguments`, the program first. The names of its output files begin with `files`.
  Watcher(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
          std::string files);

  // --- Metrics. `series` is a name with optional labels: `a_total{code="200"}`. Returns the sum of
  // the series with these labels, or 0 if there is none or nothing is served.
  double Metric(const std::string& series);
  double Polls(const std::string& outcome = "");  // empty: any outcome
  double Requests();                              // to the API server
  std::string Verdict();                          // "keep: active"; "": none was made yet
  std::string Phase();                            // "deleting"

  int Port() const;                     // of metrics and health; 0: not listening yet
  int Health(const std::string& path);  // HTTP status of /healthz or /readyz; 0: no answer
  std::string Page();                   // for people; "": no answer

  // --- The process.
  std::string Log() const { return ReadWhole(files_ + ".log"); }
  std::string Output() const { return ReadWhole(files_ + ".out"); }
  std::size_t LinesWith(const std::string& text) const;  // of the log
  pid_t Pid() const { return process_.Pid(); }
  bool HandlesSignals() const;  // whether it holds SIGTERM back, as from its first moments on
  bool IsRunning() { return process_.IsRunning(); }
  std::optional<int> WaitForExit(Duration timeout = kPatience) {
    return process_.WaitForExit(timeout);
  }
  void Signal(int signal) { process_.Signal(signal); }
  // Returns the exit code; nullopt: it ignores the signal.
  std::optional<int> Stop(int signal, Duration timeout = kPatience);
  long PeakMemoryKilobytes() const;

 private:
  HttpResult Fetch(const std::string& path);

  std::string files_;
  Process process_;
  std::unique_ptr<CurlTransport> transport_;
};

}  // namespace cluster_watcher::integration
