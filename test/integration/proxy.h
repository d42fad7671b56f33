// A server between the watcher and the API server. It answers some requests itself, with arbitrary
// bytes. It passes all others on with their token, and their true answers back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "probes/kube/api_server.h"
#include "test/integration/listener.h"

namespace cluster_watcher::integration {

// What is sent instead of the true answer.
struct Lie {
  std::string bytes;            // head and body
  bool closes = false;          // closes the connection afterwards
  std::size_t repetitions = 0;  // of `chunk` at the end, while the client takes it
  std::string chunk = {};
  bool hangs = false;  // sends nothing before Proxy::LetGo

  // A complete answer.
  static Lie Answer(int status, const std::string& body,
                    const std::string& content_type = "application/json",
                    const std::string& more_headers = "");
};

// A request that is passed on.
struct Passage {
  int number = 0;            // counts the requests passed on, from 1
  std::string request_line;  // "GET /apis/apps/v1/…"
  std::string head;          // the line and the headers
  std::string body;
  bool answered = false;  // the API server has handled it, but the client doesn't know yet
  int status = 0;         // of the answer; 0: there was none
};

class Proxy {
 public:
  // Listens on a port of its own and passes requests on to `server`.
  explicit Proxy(ApiServer server);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  // This proxy's address, with the true server's token.
  ApiServer Address() const;

  // Answers requests whose method and target contain `part`, such as "GET /apis/apps", with `lie`.
  // If several parts match, the longest counts.
  void LieAbout(const std::string& part, Lie lie);
  void TellTheTruth();
  void LetGo();  // releases what hangs now or later
  int LiesTold() const { return lies_told_; }
  // The requests that were answered with a lie or hang, in order.
  std::vector<Passage> LiedTo();
  int RequestsPassedOn() const { return passed_on_; }
  // The requests passed on whose method and target contain `part`, in order.
  std::vector<Passage> PassedOnWith(const std::string& part);

  // Asks the API server for no more than `items` at a time, whatever the client asks for.
  void CutPages(int items) { page_size_ = items; }

  // Holds each true answer back for this time.
  void DelayAnswers(std::chrono::milliseconds delay) { delay_ = delay; }
  // Every `nth` request doesn't reach the API server: it is answered with a 503, or the connection
  // is cut, by turns.
  void FailEvery(int nth) { fails_every_ = nth; }
  // This share of the requests fails, chosen at random: answered with a 429 and Retry-After, a 500
  // or a 503, cut before they reach the API server, or carried out and their answers cut off.
  void FailAtRandom(double share, unsigned seed);

  // Called twice for each request that is passed on: before it is sent, and before its answer goes
  // back. If it returns false, the connection is cut. It may block; each connection has its own
  // thread, and all must be released before the proxy ends. An empty gate lets everything through.
  using Gate = std::function<bool(const Passage&)>;
  void SetGate(Gate gate);

 private:
  void Serve(int socket);
  std::optional<Lie> LieFor(const Passage& passage);
  // Lets this request fail. False: the connection is to be cut.
  bool Fail(int socket, int number);
  enum class Failure { kThrottled, kError, kUnavailable, kCut, kCutOff };
  std::optional<Failure> FailureByChance();
  static std::string AnswerOf(Failure failure);
  bool IsLetThrough(const Passage& passage);

  const ApiServer server_;
  std::atomic<int> lies_told_{0};
  std::atomic<int> passed_on_{0};
  std::atomic<bool> let_go_{false};
  std::atomic<int> page_size_{0};  // 0: as the client asks
  std::atomic<std::chrono::milliseconds> delay_{std::chrono::milliseconds(0)};
  std::atomic<int> fails_every_{0};  // 0: none fails
  std::mutex mutex_;                 // guards what follows
  double fails_at_random_ = 0;
  std::mt19937 random_;
  std::map<std::string, Lie> lies_;
  Gate gate_;
  std::vector<Passage> passages_;
  std::vector<Passage> lied_to_;
  Listener listener_;  // the first to end: what it serves uses all else
};

}  // namespace cluster_watcher::integration
