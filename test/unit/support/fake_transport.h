// A transport that records its requests and answers as it was told.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/token_source.h"
#include "test/unit/support/objects.h"
#include "test/unit/support/test_clock.h"

namespace cluster_watcher {

class FakeTransport final : public Transport {
 public:
  // Sets the answer to this request. Several answers are given in turn, the last one for ever.
  void On(const ApiRequest& request, HttpResult answer) {
    answers_[KeyOf(request.http)].push_back(std::move(answer));
  }
  // Answers all other requests; if it is empty, they get NoSuchPath().
  std::function<HttpResult(const HttpRequest&)> otherwise;
  // Forgets the answers set by On() and the recorded requests.
  void Forget() {
    answers_.clear();
    requests.clear();
    batches = 0;
  }

  std::vector<HttpResult> Perform(std::span<const HttpRequest> batch, std::size_t,
                                  std::stop_token) override {
    ++batches;
    std::vector<HttpResult> results;
    for (const HttpRequest& request : batch) {
      if (!request.MaySend()) {
        results.push_back(Unexpected{TransportError{TransportError::Kind::kNotSent, ""}});
        continue;
      }
      requests.push_back(request);
      results.push_back(AnswerTo(request));
    }
    return results;
  }

  bool WasAsked(const ApiRequest& request) const { return TimesAsked(request) > 0; }
  std::size_t TimesAsked(const ApiRequest& request) const {
    std::size_t times = 0;
    for (const HttpRequest& asked : requests) times += KeyOf(asked) == KeyOf(request.http);
    return times;
  }

  std::vector<HttpRequest> requests;
  std::size_t batches = 0;

 private:
  static std::string KeyOf(const HttpRequest& request) {
    return std::string(ToString(request.method)) + " " + request.target;
  }

  HttpResult AnswerTo(const HttpRequest& request) {
    const auto known = answers_.find(KeyOf(request));
    if (known == answers_.end()) return otherwise ? otherwise(request) : NoSuchPath();
    std::vector<HttpResult>& answers = known->second;
    HttpResult answer = answers.front();
    if (answers.size() > 1) answers.erase(answers.begin());
    return answer;
  }

  std::map<std::string, std::vector<HttpResult>> answers_;
};

// A client on a FakeTransport, with everything it needs.
struct FakeApi {
  // The answer to a discovery request if the server has these kinds besides those of every server;
  // nullopt for other requests.
  static std::optional<HttpResult> Discovered(const HttpRequest& request,
                                              const std::vector<ResourceType>& types) {
    std::map<std::string, std::vector<std::string>> groups;
    std::map<std::string, std::vector<ResourceType>> resources = {{"apps/v1", {}},
                                                                  {"batch/v1", {}}};
    for (const ResourceType& type : types) {
      groups[type.group] = {type.version};
      resources[type.ApiVersion()].push_back(type);
    }
    if (request.target == "/apis") return GroupList(groups);
    for (const auto& [version, kinds] : resources) {
      if (request.target == "/apis/" + version) return ResourceList(version, kinds);
    }
    return std::nullopt;
  }

  TestClock clock;
  FakeTransport transport;
  TokenSource tokens{ApiServer{}, clock};
  std::vector<RequestRecord> records;
  KubeClient client{transport, tokens, [this](const RequestRecord& r) { records.push_back(r); }};
  Discovery discovery{client};
};

}  // namespace cluster_watcher
