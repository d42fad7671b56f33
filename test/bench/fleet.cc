// Many sidecars in one process: the loop of `watch` with its own client, transport and connections
// for each, against one API server, under the token of its own pod.
//
//   fleet make KUBECONFIG NAMESPACE FIRST COUNT TOKENS
//     makes COUNT clusters from number FIRST on, a hundred to a namespace NAMESPACE-N: a driver (a
//     Deployment), a master (Deployment, ReplicaSet and pod, as controllers would make them), and a
//     token that is bound to the pod; adds "NAMESPACE POD DRIVER TOKEN" to TOKENS for each
//   fleet watch KUBECONFIG TOKENS FIRST COUNT FLAG=VALUE...
//     watches over them with these flags of `watch`, until SIGTERM. Prints, with times in
//     microseconds since 1970:
//       ready TIME            all have had a definite verdict
//       p TIME TOOK REQUESTS SIDECAR yes|no    a poll: its begin, how long until its last answer,
//                                      its requests, whose it is, and whether it was definite
//       r SECOND SENT UNANSWERED FAILED    at the end: requests that ended in a second, those of
//                                      them that had no answer, and an error status
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "probes/base/json.h"
#include "probes/kube/curl_transport.h"
#include "watcher/loop/watch_loop.h"

namespace cluster_watcher {
namespace {

constexpr int kInNamespace = 100;
constexpr int kMakers = 8;
// So many begin at a time: a machine that is busy with all of them would show nothing.
constexpr int kBeginAtATime = 8;

std::int64_t Microseconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "fleet: %s\n", message.c_str());
  return 1;
}

Result<ApiServer> ServerOf(const std::string& kubeconfig) {
  return FindApiServer(kubeconfig, "", [](const std::string&) { return std::nullopt; });
}

// --- Making clusters. ---

struct Maker {
  const ApiServer& server;
  const std::string& prefix;
  std::unique_ptr<CurlTransport> transport;
  std::string problem;

  // Returns the answer's document; an empty one behind a problem.
  JsonDocument Post(const std::string& target, std::string body) {
    if (!problem.empty()) return {};
    HttpRequest request;
    request.method = HttpMethod::kPost;
    request.target = target;
    request.content_type = "application/json";
    request.body = std::move(body);
    request.bearer_token = server.token;
    request.timeout = std::chrono::minutes(1);
    const auto answer = std::move(transport->Perform(std::span(&request, 1), 1, {}).front());
    if (!answer || (answer->status != 201 && answer->status != 409)) {
      problem = answer ? target + ": " + answer->body : answer.error().message;
      return {};
    }
    auto document = JsonDocument::Parse(answer->body);
    if (!document) problem = target + ": " + document.error().message;
    return document ? *std::move(document) : JsonDocument();
  }
  // Creates an object; returns its UID.
  std::string Make(const std::string& collection, const std::string& kind, const std::string& meta,
                   const std::string& more) {
    const std::string version = collection.starts_with("/apis/") ? "apps/v1" : "v1";
    const JsonDocument made =
        Post(collection, R"({"apiVersion":")" + version + R"(","kind":")" + kind +
                             R"(","metadata":{)" + meta + "}" + more + "}");
    return std::string(made.root()["metadata"]["uid"].AsString().value_or(""));
  }

  void MakeNamespace(const std::string& ns) {
    Make("/api/v1/namespaces", "Namespace", R"("name":")" + ns + "\"", "");
    Make("/api/v1/namespaces/" + ns + "/serviceaccounts", "ServiceAccount", R"("name":"watcher")",
         "");
    Post("/apis/rbac.authorization.k8s.io/v1/namespaces/" + ns + "/rolebindings",
         R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding",)"
         R"("metadata":{"name":"watcher"},"subjects":[{"kind":"ServiceAccount",)"
         R"("name":"watcher","namespace":")" +
             ns +
             R"("}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",)"
             R"("name":"cluster-watcher"}})");
  }
  // Returns the line for TOKENS.
  std::string MakeCluster(int number) {
    const std::string ns = prefix + "-" + std::to_string(number / kInNamespace);
    const std::string id = std::to_string(number);
    const auto labels = [](const std::string& name, const std::string& more) {
      return R"("labels":{)" + more + R"("app":")" + name + "\"}";
    };
    const std::string containers =
        R"("containers":[{"name":"main","image":"example.invalid/none"}])";
    const auto workload = [&](const std::string& name, const std::string& more) {
      return R"(,"spec":{"replicas":1,"selector":{"matchLabels":{"app":")" + name +
             R"("}},"template":{"metadata":{)" + labels(name, more) + R"(},"spec":{)" + containers +
             "}}}";
    };
    const auto below = [](const std::string& kind, const std::string& name,
                          const std::string& uid) {
      return R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":")" + kind + R"(","name":")" +
             name + R"(","uid":")" + uid + R"(","controller":true,"blockOwnerDeletion":true}])";
    };
    const std::string apps = "/apis/apps/v1/namespaces/" + ns;
    const std::string core = "/api/v1/namespaces/" + ns;
    const std::string driver = "driver-" + id, master = "m-" + id;
    const std::string pod = master + "-5d8b-x2x7z";
    const std::string cluster = R"("oshinko-cluster":"c-)" + id + R"(","oshinko-type":"master",)";
    Make(apps + "/deployments", "Deployment", R"("name":")" + driver + "\"", workload(driver, ""));
    const std::string root =
        Make(apps + "/deployments", "Deployment",
             R"("name":")" + master + "\"," + labels(master, cluster), workload(master, cluster));
    const std::string set = Make(apps + "/replicasets", "ReplicaSet",
                                 R"("name":")" + master + R"(-5d8b",)" + labels(master, cluster) +
                                     below("Deployment", master, root),
                                 workload(master, cluster));
    const std::string uid = Make(core + "/pods", "Pod",
                                 R"("name":")" + pod + "\"," + labels(master, cluster) +
                                     below("ReplicaSet", master + "-5d8b", set),
                                 R"(,"spec":{"serviceAccountName":"watcher",)" + containers + "}");
    const JsonDocument given = Post(
        core + "/serviceaccounts/watcher/token",
        R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{)"
        R"("expirationSeconds":14400,"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":")" +
            pod + R"(","uid":")" + uid + "\"}}}");
    const auto token = given.root()["status"]["token"].AsString();
    if (problem.empty() && (!token || uid.empty())) problem = pod + ": got no token";
    return ns + " " + pod + " " + driver + " " + std::string(token.value_or("")) + "\n";
  }
};

int Make(const std::string& kubeconfig, const std::string& prefix, int first, int count,
         const std::string& tokens) {
  const auto server = ServerOf(kubeconfig);
  if (!server) return Fail(server.error().message);
  std::vector<std::string> lines(static_cast<std::size_t>(count));
  std::string problem;
  std::mutex mutex;
  const auto side_by_side = [&](int begin, int end, const auto& make) {
    std::atomic<int> next{begin};
    std::vector<std::jthread> threads;
    for (int i = 0; i < kMakers; ++i) {
      threads.emplace_back([&] {
        auto transport = CurlTransport::Create(*server);
        Maker maker{*server, prefix, transport ? *std::move(transport) : nullptr,
                    transport ? "" : transport.error().message};
        for (int n = next++; n < end && maker.problem.empty(); n = next++) make(maker, n);
        const std::lock_guard lock(mutex);
        if (!maker.problem.empty()) problem = maker.problem;
      });
    }
  };
  const int last = first + count - 1;
  side_by_side(first / kInNamespace, last / kInNamespace + 1,
               [&](Maker& maker, int n) { maker.MakeNamespace(prefix + "-" + std::to_string(n)); });
  side_by_side(first, last + 1, [&](Maker& maker, int n) {
    lines[static_cast<std::size_t>(n - first)] = maker.MakeCluster(n);
  });
  if (!problem.empty()) return Fail(problem);
  std::ofstream file(tokens, std::ios::app);
  for (const std::string& line : lines) file << line;
  return file.flush() ? 0 : Fail("can't write " + tokens);
}

// --- Watching. ---

// What all sidecars tell. Thread-safe.
class Records {
 public:
  void Poll(WallTime begun, WallTime ended, int requests, int sidecar, bool definite) {
    std::printf("p %" PRId64 " %" PRId64 " %d %d %s\n", Microseconds(begun),
                Microseconds(ended) - Microseconds(begun), requests, sidecar,
                definite ? "yes" : "no");
  }
  void Request(WallTime ended, int status) {
    const std::lock_guard lock(mutex_);
    Second& second = seconds_[Microseconds(ended) / 1'000'000];
    ++second.sent;
    if (status == 0) ++second.unanswered;
    if (status >= 300) ++second.failed;
  }
  void Print() {
    const std::lock_guard lock(mutex_);
    for (const auto& [second, of] : seconds_) {
      std::printf("r %" PRId64 " %d %d %d\n", second, of.sent, of.unanswered, of.failed);
    }
  }

 private:
  struct Second {
    int sent = 0, unanswered = 0, failed = 0;
  };
  std::mutex mutex_;
  std::map<std::int64_t, Second> seconds_;
};

// The poll that is under way. It has begun when the loop turned last, before its first request.
class PollRecord {
 public:
  PollRecord(Records& records, const prometheus::Registry& registry, int sidecar)
      : records_(records), registry_(registry), sidecar_(sidecar) {}

  void Turned() {
    if (requests_ > 0) records_.Poll(begun_, ended_, requests_, sidecar_, IsDefinite());
    requests_ = 0;
    failed_ = false;
    begun_ = std::chrono::system_clock::now();
  }
  void Requested(int status) {
    ended_ = std::chrono::system_clock::now();
    ++requests_;
    if (status != 200) failed_ = true;
    records_.Request(ended_, status);
  }

 private:
  // A glance that was answered is; of other polls the metrics tell.
  bool IsDefinite() const {
    if (requests_ == 1 && !failed_) return true;
    for (const prometheus::MetricFamily& family : registry_.Collect()) {
      if (family.name != "cluster_watcher_last_definite_poll_timestamp_seconds") continue;
      return family.metric.front().gauge.value * 1e6 >= static_cast<double>(Microseconds(begun_));
    }
    return false;
  }

  Records& records_;
  const prometheus::Registry& registry_;
  const int sidecar_;
  WallTime begun_{}, ended_{};
  int requests_ = 0;
  bool failed_ = false;
};

// Says when the sidecar waits with a definite verdict for the first time.
class FirstVerdict {
 public:
  FirstVerdict(const LoopHealth& health, std::counting_semaphore<>& ready)
      : health_(health), ready_(ready) {}

  void Waits() {
    if (said_ || !health_.IsReady()) return;
    said_ = true;
    ready_.release();
  }

 private:
  const LoopHealth& health_;
  std::counting_semaphore<>& ready_;
  bool said_ = false;
};

// A loop that polls waits by its clock, one that watches by its streams.
class SidecarClock final : public Clock {
 public:
  explicit SidecarClock(FirstVerdict& verdict) : verdict_(verdict) {}

  MonotonicTime Now() override { return clock_.Now(); }
  WallTime WallNow() override { return clock_.WallNow(); }
  BootTime BootNow() override { return clock_.BootNow(); }
  bool WaitUntil(MonotonicTime deadline, std::stop_token stop) override {
    verdict_.Waits();
    return clock_.WaitUntil(deadline, std::move(stop));
  }

 private:
  SystemClock clock_;
  FirstVerdict& verdict_;
};

class SidecarStreams final : public Streams {
 public:
  SidecarStreams(Streams& streams, FirstVerdict& verdict) : streams_(streams), verdict_(verdict) {}

  std::unique_ptr<Stream> Open(const HttpRequest& request, StreamReader& reader) override {
    return streams_.Open(request, reader);
  }
  void Wait(MonotonicTime deadline, std::stop_token stop) override {
    verdict_.Waits();
    streams_.Wait(deadline, std::move(stop));
  }

 private:
  Streams& streams_;
  FirstVerdict& verdict_;
};

// As RunWatch wires it, without an endpoint for metrics.
void Watch(int number, ApiServer server, const TextMap& flags, Records& records,
           std::counting_semaphore<>& ready, const std::stop_token& stop) {
  const auto resolve = [&](const TextMap& annotations) {
    return ResolveSettings(
        flags, [](const std::string&) { return std::nullopt; }, annotations);
  };
  SettingsInForce settings(resolve({}), resolve);
  for (const std::string& error : settings.resolved().errors) Fail(error);
  LoopHealth health;
  FirstVerdict verdict(health, ready);
  SidecarClock clock(verdict);
  Log log(settings->log_level, LogFormat::kText);
  prometheus::Registry registry;
  WatcherMetrics metrics(registry, "fleet", "");
  PollRecord poll(records, registry, number);
  auto transport = CurlTransport::Create(server, clock);
  if (!transport) {
    Fail(transport.error().message);
    return;
  }
  TokenSource tokens(server, clock);
  const RequestObserver note_request = [&](const RequestRecord& request) {
    metrics.Requested(std::to_string(request.status), ToString(request.method), request.elapsed);
    poll.Requested(request.status);
    health.Turned(clock.Now());
  };
  KubeClient client(**transport, tokens, note_request);
  SidecarStreams streams(**transport, verdict);
  const WatchAccess watches{streams, tokens, clock, note_request};
  Discovery discovery(client);
  const Tools tools{
      client, discovery, clock, settings, metrics, log.logger(), [&](Duration) { poll.Turned(); }};
  Observer observer(client, discovery, clock, settings);
  EventRecorder events(client, clock, log.logger(), settings->pod);
  Announcer announcer(events, clock, log);
  WatchLoop loop(
      tools, observer, announcer, health,
      [](const std::string&) -> Result<std::unique_ptr<Transport>> {
        return Failure("there are no steps");
      },
      [](MonotonicTime) { return std::nullopt; }, &watches);
  const int code = loop.Run(stop);
  poll.Turned();
  if (!stop.stop_requested()) Fail(settings->pod + ": ended with " + std::to_string(code));
}

int WatchAll(const std::string& kubeconfig, const std::string& tokens, int first, int count,
             const TextMap& more_flags) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, nullptr, _IOLBF, 0);

  auto server = ServerOf(kubeconfig);
  if (!server) return Fail(server.error().message);
  std::ifstream file(tokens);
  std::string line;
  for (int i = 0; i < first; ++i) std::getline(file, line);

  Records records;
  std::counting_semaphore<> ready(kBeginAtATime);
  std::stop_source stop;
  std::vector<std::jthread> sidecars;
  for (int i = 0; i < count && std::getline(file, line); ++i) {
    TextMap flags = more_flags;
    std::string driver;
    std::istringstream(line) >> flags["namespace"] >> flags["pod"] >> driver >> server->token;
    flags["owner"] = "deployment/" + driver;
    flags["log-level"] = "error";
    ready.acquire();
    sidecars.emplace_back([=, &records, &ready, token = stop.get_token(), own = *server] {
      Watch(first + i, own, flags, records, ready, token);
    });
  }
  for (int i = 0; i < kBeginAtATime; ++i) ready.acquire();
  std::printf("ready %" PRId64 "\n", Microseconds(std::chrono::system_clock::now()));
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  stop.request_stop();
  sidecars.clear();
  records.Print();
  return 0;
}

}  // namespace
}  // namespace cluster_watcher

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const auto number = [&](std::size_t i) { return std::atoi(words[i].c_str()); };
  if (words.size() == 6 && words[0] == "make") {
    return cluster_watcher::Make(words[1], words[2], number(3), number(4), words[5]);
  }
  if (words.size() >= 5 && words[0] == "watch") {
    cluster_watcher::TextMap flags;
    for (std::size_t i = 5; i < words.size(); ++i) {
      const std::size_t at = words[i].find('=');
      if (at != words[i].npos) flags[words[i].substr(0, at)] = words[i].substr(at + 1);
    }
    return cluster_watcher::WatchAll(words[1], words[2], number(3), number(4), flags);
  }
  std::fputs(
      "usage: fleet make KUBECONFIG NAMESPACE FIRST COUNT TOKENS\n"
      "       fleet watch KUBECONFIG TOKENS FIRST COUNT FLAG=VALUE...\n",
      stderr);
  return 2;
}
