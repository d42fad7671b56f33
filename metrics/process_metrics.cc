#include "metrics/process_metrics.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace cluster_watcher {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// The kernel's boot time in Unix seconds.
std::optional<double> BootTime() {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    if (line.starts_with("btime ")) return std::strtod(line.c_str() + 6, nullptr);
  }
  return std::nullopt;
}

std::optional<double> StartTime() {
  std::ifstream stat("/proc/self/stat");
  // The second field is the program's name in brackets, which may itself contain brackets and
  // spaces; the start time, in clock ticks since boot, is field 22.
  std::string line;
  std::getline(stat, line);
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  const std::optional<double> boot = BootTime();
  if (at == std::string::npos || !boot) return std::nullopt;
  return *boot +
         std::strtod(line.c_str() + at, nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<double> ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  if (!(statm >> total >> resident)) return std::nullopt;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::optional<double> CpuSeconds() {
  timespec used{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return std::nullopt;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

std::optional<double> OpenFiles() {
  std::error_code error;
  double count = 0;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) ++count;
  if (error) return std::nullopt;
  return count - 1;  // Excludes the descriptor that reads the directory.
}

void Add(std::vector<MetricFamily>& families, MetricType type, const char* name, const char* help,
         std::optional<double> value) {
  if (!value) return;
  prometheus::ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
  families.push_back({name, help, type, {std::move(metric)}});
}

}  // namespace

ProcessMetrics::ProcessMetrics() : start_time_(StartTime()) {}

std::vector<MetricFamily> ProcessMetrics::Collect() const {
  std::vector<MetricFamily> families;
  Add(families, MetricType::Counter, "process_cpu_seconds_total",
      "CPU time that this process has used.", CpuSeconds());
  Add(families, MetricType::Gauge, "process_open_fds", "Open file descriptors.", OpenFiles());
  Add(families, MetricType::Gauge, "process_resident_memory_bytes", "Resident memory.",
      ResidentBytes());
  Add(families, MetricType::Gauge, "process_start_time_seconds",
      "When this process started, in Unix time.", start_time_);
  return families;
}

}  // namespace cluster_watcher
