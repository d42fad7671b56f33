// Fakes of the two seams, and API server answers in few words. A FakeTransport records what it was
// asked and answers as it was told; a FakeClock moves only where a test moves it or waits on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/token_source.h"

namespace cluster_watcher {

class FakeClock final : public Clock {
 public:
  MonotonicTime Now() override { return now; }
  WallTime WallNow() override { return wall; }
  bool WaitUntil(MonotonicTime deadline, std::stop_token stop) override {
    now = std::max(now, deadline);
    return !stop.stop_requested();
  }

  MonotonicTime now{std::chrono::seconds(1'000)};
  WallTime wall{std::chrono::sys_days(std::chrono::year(2026) / 12 / 24)};
};

inline HttpResponse Answer(int status, std::string body,
                           std::string content_type = "application/json") {
  HttpResponse response;
  response.status = status;
  response.content_type = std::move(content_type);
  response.body = std::move(body);
  return response;
}

inline HttpResult NoAnswer(TransportError::Kind kind = TransportError::Kind::kTimeout) {
  return Unexpected{TransportError{kind, "no answer came"}};
}

// What an API server says of a path that it doesn't know.
inline HttpResponse NoSuchPath() { return Answer(404, "404 page not found\n", "text/plain"); }

class FakeTransport final : public Transport {
 public:
  // Answers this request so; told more than once, in this order, the last answer for ever.
  void On(const ApiRequest& request, HttpResult answer) {
    answers_[KeyOf(request.http)].push_back(std::move(answer));
  }
  // Answers whatever else is asked; without it, NoSuchPath().
  std::function<HttpResult(const HttpRequest&)> otherwise;

  std::vector<HttpResult> Perform(std::span<const HttpRequest> batch, std::size_t,
                                  std::stop_token) override {
    ++batches;
    std::vector<HttpResult> results;
    for (const HttpRequest& request : batch) {
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

// A client of a FakeTransport, and what it needs.
struct FakeApi {
  FakeClock clock;
  FakeTransport transport;
  TokenSource tokens{ApiServer{}, clock};
  std::vector<RequestRecord> records;
  KubeClient client{transport, tokens, [this](const RequestRecord& r) { records.push_back(r); }};
  Discovery discovery{client};
};

// A built-in kind by one of its names.
inline const ResourceType& TypeOf(std::string_view name) { return *FindBuiltInByName(name, ""); }

// An object as the API server writes it. `metadata` and `fields` are more of its fields, as JSON
// text without the braces around it.
inline std::string ObjectText(const ResourceType& type, std::string_view ns, std::string_view name,
                              std::string_view uid, std::string_view metadata = "",
                              std::string_view fields = "") {
  std::string text = R"({"apiVersion":")" + type.ApiVersion() + R"(","kind":")" + type.kind +
                     R"(","metadata":{"name":")" + std::string(name) + R"(","uid":")" +
                     std::string(uid) + R"(","resourceVersion":"7")";
  if (!ns.empty()) text += R"(,"namespace":")" + std::string(ns) + R"(")";
  if (!metadata.empty()) text += "," + std::string(metadata);
  text += "}";
  if (!fields.empty()) text += "," + std::string(fields);
  return text + "}";
}

inline std::string ListText(const ResourceType& type, const std::vector<std::string>& items,
                            std::string_view next = "") {
  std::string text = R"({"apiVersion":")" + type.ApiVersion() + R"(","kind":")" + type.kind +
                     R"(List","metadata":{"resourceVersion":"9")";
  if (!next.empty()) text += R"(,"continue":")" + std::string(next) + R"(")";
  text += R"(},"items":[)";
  for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + items[i];
  return text + "]}";
}

// The 404 of a missing object.
inline HttpResponse NotFound(const ResourceType& type, const std::string& name) {
  const std::string group = type.group.empty() ? "" : R"("group":")" + type.group + R"(",)";
  return Answer(404, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                     R"("message":"not found","reason":"NotFound","details":{"name":")" +
                         name + R"(",)" + group + R"("kind":")" + type.plural +
                         R"("},"code":404})");
}

inline HttpResponse Refused(int status) {
  return Answer(status, R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"no"})");
}

// `"ownerReferences":[…]` with one controller.
inline std::string ControlledBy(const ResourceType& type, std::string_view name,
                                std::string_view uid) {
  return R"("ownerReferences":[{"apiVersion":")" + type.ApiVersion() + R"(","kind":")" + type.kind +
         R"(","name":")" + std::string(name) + R"(","uid":")" + std::string(uid) +
         R"(","controller":true}])";
}

// Groups that are served besides those that every API server has, each in these versions.
inline HttpResponse GroupList(std::map<std::string, std::vector<std::string>> groups) {
  for (const char* group : {"apps", "batch"})
    groups.try_emplace(group, std::vector<std::string>{"v1"});
  std::string text = R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)";
  for (bool first = true; const auto& [group, versions] : groups) {
    text += std::string(first ? "" : ",") + R"({"name":")" + group + R"(","versions":[)";
    for (std::size_t i = 0; i < versions.size(); ++i) {
      text += std::string(i == 0 ? "" : ",") + R"({"groupVersion":")" + group + "/" + versions[i] +
              R"(","version":")" + versions[i] + R"("})";
    }
    text += R"(],"preferredVersion":{"groupVersion":")" + group + "/" + versions.front() +
            R"(","version":")" + versions.front() + R"("}})";
    first = false;
  }
  return Answer(200, text + "]}");
}

inline HttpResponse ResourceList(const std::string& group_version,
                                 const std::vector<ResourceType>& types) {
  std::string text = R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":")" +
                     group_version + R"(","resources":[)";
  for (std::size_t i = 0; i < types.size(); ++i) {
    text += std::string(i == 0 ? "" : ",") + R"({"name":")" + types[i].plural + R"(","kind":")" +
            types[i].kind + R"(","namespaced":)" + (types[i].namespaced ? "true" : "false") +
            R"(,"verbs":["create","get","list"]})";
  }
  return Answer(200, text + "]}");
}

}  // namespace cluster_watcher
