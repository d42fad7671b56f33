// Creates objects through an API server, as a dry run, at a steady rate, and prints how long that
// took:
//
//   admission_load KUBECONFIG PATH OBJECT.json RATE SECONDS
//
// PATH: of the kind in a namespace, "/api/v1/namespaces/lab/pods".
// prints "p50 p99 greatest answered failed injected". The first three are milliseconds since the
// request was due, so that the waiting requests behind a slow answer count; the others are numbers
// of requests.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "probes/base/file.h"
#include "probes/kube/curl_transport.h"
#include "probes/kube/token_source.h"

namespace cluster_watcher {
namespace {

constexpr int kConnections = 16;

struct Outcome {
  std::vector<double> milliseconds;
  int failed = 0;
  int injected = 0;
};

int Run(const std::string& kubeconfig, const std::string& path, const std::string& file, int rate,
        int seconds) {
  const auto server =
      FindApiServer(kubeconfig, "", [](const std::string&) { return std::nullopt; });
  const auto object = ReadFile(file, 1u << 20);
  if (!server || !object) {
    std::fprintf(stderr, "admission_load: %s\n",
                 (server ? object.error() : server.error()).message.c_str());
    return 1;
  }
  const int total = rate * seconds;
  const auto start = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  std::atomic<int> next{0};
  Outcome all;
  std::mutex mutex;
  const auto work = [&] {
    auto transport = CurlTransport::Create(*server);
    if (!transport) return;
    HttpRequest request;
    request.method = HttpMethod::kPost;
    request.target = path + "?dryRun=All";
    request.content_type = "application/json";
    request.body = *object;
    request.bearer_token = server->token;
    Outcome mine;
    for (int i = next++; i < total; i = next++) {
      const auto due = start + i * std::chrono::microseconds(1'000'000) / rate;
      std::this_thread::sleep_until(due);
      const auto answer = std::move((*transport)->Perform(std::span(&request, 1), 1, {}).front());
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - due;
      mine.milliseconds.push_back(took.count());
      if (!answer || answer->status != 201) {
        ++mine.failed;
      } else if (answer->body.find("cluster-watcher-token") != std::string::npos) {
        ++mine.injected;
      }
    }
    const std::lock_guard lock(mutex);
    all.milliseconds.insert(all.milliseconds.end(), mine.milliseconds.begin(),
                            mine.milliseconds.end());
    all.failed += mine.failed;
    all.injected += mine.injected;
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kConnections; ++i) threads.emplace_back(work);
  }
  std::vector<double>& times = all.milliseconds;
  if (times.empty()) return 1;
  std::sort(times.begin(), times.end());
  std::printf("%.3f %.3f %.3f %zu %d %d\n", times[times.size() / 2], times[times.size() * 99 / 100],
              times.back(), times.size(), all.failed, all.injected);
  return 0;
}

}  // namespace
}  // namespace cluster_watcher

int main(int argc, char** argv) {
  if (argc != 6 || std::atoi(argv[4]) < 1 || std::atoi(argv[5]) < 1) {
    std::fprintf(stderr, "usage: admission_load KUBECONFIG PATH OBJECT.json RATE SECONDS\n");
    return 2;
  }
  return cluster_watcher::Run(argv[1], argv[2], argv[3], std::atoi(argv[4]), std::atoi(argv[5]));
}
