#include "test/integration/watcher.h"

#include <csignal>
#include <cstdlib>
#include <sstream>

namespace cluster_watcher::integration {
namespace {

constexpr char kPortLine[] = "metrics and health on port ";

// Returns the labels of `series`, each with its value: "code=\"200\"".
std::vector<std::string> LabelsOf(const std::string& series) {
  std::vector<std::string> labels;
  const std::size_t open = series.find('{');
  if (open == std::string::npos) return labels;
  std::istringstream inside(series.substr(open + 1, series.rfind('}') - open - 1));
  for (std::string label; std::getline(inside, label, ',');) labels.push_back(label);
  return labels;
}

bool IsOf(const std::string& line, const std::string& name,
          const std::vector<std::string>& labels) {
  if (line.compare(0, name.size(), name) != 0) return false;
  if (line[name.size()] != '{' && line[name.size()] != ' ') return false;
  for (const std::string& label : labels) {
    if (line.find(label) == std::string::npos) return false;
  }
  return true;
}

// Returns the value of `label` in the line of `metrics` that begins with `name` and ends with 1.
std::string LabelOfOne(const std::string& metrics, const std::string& name,
                       const std::string& label) {
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (!IsOf(line, name, {}) || !line.ends_with("} 1")) continue;
    const std::size_t begin = line.find(label + "=\"") + label.size() + 2;
    return line.substr(begin, line.find('"', begin) - begin);
  }
  return "";
}

}  // namespace

Watcher::Watcher(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment, std::string files)
    : files_(std::move(files)),
      process_(arguments, environment, files_ + ".out", files_ + ".log") {}

HttpResult Watcher::Fetch(const std::string& path) {
  if (transport_ == nullptr) {
    const int port = Port();
    if (port == 0) {
      return Unexpected{TransportError{TransportError::Kind::kConnect, "it doesn't listen yet"}};
    }
    ApiServer server;
    server.url = "http://127.0.0.1:" + std::to_string(port);
    transport_ = *CurlTransport::Create(server);
  }
  HttpRequest request;
  request.target = path;
  request.accept = "*/*";
  return std::move(transport_->Perform({&request, 1}, 1, {}).front());
}

double Watcher::Metric(const std::string& series) {
  const HttpResult metrics = Fetch("/metrics");
  if (!metrics || metrics->status != 200) return 0;
  const std::string name = series.substr(0, series.find('{'));
  const std::vector<std::string> labels = LabelsOf(series);
  std::istringstream lines(metrics->body);
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (IsOf(line, name, labels)) sum += std::atof(line.c_str() + line.rfind(' '));
  }
  return sum;
}

double Watcher::Polls(const std::string& outcome) {
  return Metric("cluster_watcher_polls_total" +
                (outcome.empty() ? "" : "{outcome=\"" + outcome + "\"}"));
}

double Watcher::Requests() { return Metric("rest_client_requests_total"); }

std::string Watcher::Verdict() {
  if (Polls() == 0) return "";
  const HttpResult metrics = Fetch("/metrics");
  if (!metrics || metrics->status != 200) return "";
  const std::string name = "cluster_watcher_verdict";
  return LabelOfOne(metrics->body, name, "verdict") + ": " +
         LabelOfOne(metrics->body, name, "reason");
}

std::string Watcher::Phase() {
  const HttpResult metrics = Fetch("/metrics");
  if (!metrics || metrics->status != 200) return "";
  return LabelOfOne(metrics->body, "cluster_watcher_phase", "phase");
}

int Watcher::Port() const {
  const std::string log = Log();
  const std::size_t line = log.find(kPortLine);
  if (line == std::string::npos || log.find('\n', line) == std::string::npos) return 0;
  return std::atoi(&log[line + sizeof kPortLine - 1]);
}

int Watcher::Health(const std::string& path) {
  const HttpResult health = Fetch(path);
  return health ? health->status : 0;
}

std::string Watcher::Page() {
  const HttpResult page = Fetch("/");
  return page && page->status == 200 ? page->body : "";
}

std::size_t Watcher::LinesWith(const std::string& text) const {
  std::istringstream lines(Log());
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(text) != std::string::npos) ++count;
  }
  return count;
}

bool Watcher::HandlesSignals() const {
  const std::string status = ReadWhole("/proc/" + std::to_string(process_.Pid()) + "/status");
  const std::size_t blocked = status.find("SigBlk:");
  return blocked != std::string::npos &&
         (std::stoull(status.substr(blocked + 7), nullptr, 16) >> (SIGTERM - 1) & 1) == 1;
}

std::optional<int> Watcher::Stop(int signal, Duration timeout) {
  process_.Signal(signal);
  return process_.WaitForExit(timeout);
}

long Watcher::PeakMemoryKilobytes() const {
  const std::string status = ReadWhole("/proc/" + std::to_string(process_.Pid()) + "/status");
  const std::size_t line = status.find("VmHWM:");
  return line == std::string::npos ? 0 : std::atol(&status[line + 6]);
}

}  // namespace cluster_watcher::integration
