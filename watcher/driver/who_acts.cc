#include "watcher/driver/who_acts.h"

#include <random>
#include <string_view>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

constexpr int kUidLength = 10;
constexpr Duration kReviewTimeout{2'000};

}  // namespace

std::string RandomLetters(int count) {
  // Without vowels there are no words.
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::random_device random;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  std::string letters;
  for (int i = 0; i < count; ++i) letters += kLetters[letter(random)];
  return letters;
}

WatcherId SomeCommand() { return {"cli", RandomLetters(kUidLength)}; }

std::string WhoAsks(const DriverTools& tools) {
  static const ResourceType reviews{"authentication.k8s.io", "v1", "selfsubjectreviews",
                                    "SelfSubjectReview", false};
  JsonWriter body;
  body.StartObject().Field("apiVersion", reviews.ApiVersion()).Field("kind", reviews.kind);
  ApiRequest request = ApiRequest::Create(reviews, "", body.EndObject().Text());
  request.http.timeout = kReviewTimeout;
  const auto answer = tools.client.Do(request, tools.Reads());
  const JsonValue user = answer ? answer->document.root()["status"]["userInfo"] : JsonValue();
  const std::string name(user["username"].AsString().value_or(""));
  if (!name.empty()) return name;
  const std::string unknown = "somebody who may not ask who they are";
  return tools.user.empty() ? unknown : unknown + ", by their kubeconfig " + Quoted(tools.user);
}

Actor WhoActs(const DriverTools& tools, const std::string& ns, const Environment& environment) {
  Actor actor{SomeCommand()};
  const std::string pod = environment("POD_NAME").value_or("");
  if (pod.empty()) return actor;
  actor.pod = pod;
  const std::string pod_ns = environment("POD_NAMESPACE").value_or(ns);
  const ResourceType& pods = *FindBuiltInByName("pods", "");
  const auto answer = tools.client.Do(ApiRequest::GetMetadata(pods, pod_ns, pod), tools.Reads());
  if (!answer) {
    actor.warning = "POD_NAME is " + pod + ", but: " + answer.error().message;
    return actor;
  }
  const auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) return actor;
  actor.pod_uid = meta->uid;
  // Watchers look for it in their own namespace.
  if (pod_ns == ns) actor.id = {pod, meta->uid};
  return actor;
}

}  // namespace cluster_watcher
