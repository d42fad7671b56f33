// demo-objects: creates, lists and deletes Kubernetes objects for the demo with the project's own
// code, on any API server, small or real.
//
//   demo-objects --kubeconfig=FILE --namespace=NS create FILE.json   (a List)
//   demo-objects ... list | events | delete PLURAL NAME | purge (the namespace itself)
//   demo-objects ... pod LABEL=VALUE   (waits for such a pod, prints its name)
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "probes/kube/curl_transport.h"
#include "probes/kube/kube_client.h"

namespace cluster_watcher {
namespace {

constexpr const char* kListed[] = {"deployments", "services",        "configmaps",
                                   "pods",        "serviceaccounts", "persistentvolumeclaims"};
constexpr Duration kPodPatience = std::chrono::seconds(30);

int Fail(const std::string& message) {
  std::cerr << "demo-objects: " << message << "\n";
  return 1;
}

class Objects {
 public:
  Objects(KubeClient& client, std::string ns) : client_(client), ns_(std::move(ns)) {}

  int Create(const std::string& file) {
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    auto list = JsonDocument::Parse(text);
    if (!list) return Fail(file + ": " + list.error().message);
    const std::string ns_body = JsonWriter()
                                    .StartObject()
                                    .Key("metadata")
                                    .StartObject()
                                    .Field("name", ns_)
                                    .EndObject()
                                    .EndObject()
                                    .Text();
    auto made =
        client_.Do(ApiRequest::Create(*FindBuiltInByName("namespaces", ""), "", ns_body), {});
    if (!made && made.error().failure != ApiFailure::kConflict) return Fail(made.error().message);
    for (JsonValue item : list->root()["items"].Elements()) {
      const ResourceType* type = FindBuiltInByKind(item["apiVersion"].AsString().value_or(""),
                                                   item["kind"].AsString().value_or(""));
      if (type == nullptr) return Fail(file + ": a kind that is not known");
      auto created = client_.Do(ApiRequest::Create(*type, ns_, item.ToText()), {});
      if (!created) return Fail(created.error().message);
    }
    return 0;
  }

  int List() {
    fmt::print("  {:<24}{:<38}{}\n", "KIND", "NAME", "CLUSTER");
    for (const char* plural : kListed) {
      auto items = ItemsOf(plural, "");
      if (!items) return Fail(items.error().message);
      for (const KubeObject& object : *items) {
        // Kubernetes creates these in every namespace.
        if (object.meta.name == "kube-root-ca.crt" || object.meta.name == "default") continue;
        fmt::print("  {:<24}{:<38}{}\n", object.type->kind, object.meta.name,
                   object.meta.Label("oshinko-cluster").value_or("-"));
      }
    }
    return 0;
  }

  int Events() {
    const ResourceType events{"events.k8s.io", "v1", "events", "Event", true};
    auto answer = client_.Do(ApiRequest::Discover(events.CollectionPath(ns_)), {});
    if (!answer) return Fail(answer.error().message);
    std::vector<JsonValue> items = answer->document.root()["items"].Elements();
    std::erase_if(items, [](JsonValue event) {
      return event["reportingController"].AsString() != "cluster-watcher";
    });
    std::sort(items.begin(), items.end(), [](JsonValue a, JsonValue b) {
      return a["eventTime"].AsString() < b["eventTime"].AsString();
    });
    for (JsonValue event : items) {
      fmt::print("  {:<9}{:<18}{:<12}{}\n", event["type"].AsString().value_or(""),
                 event["reason"].AsString().value_or(""),
                 event["regarding"]["kind"].AsString().value_or(""),
                 event["note"].AsString().value_or(""));
    }
    return 0;
  }

  int Delete(const std::string& plural, const std::string& name) {
    const ResourceType* type = FindBuiltInByName(plural, "");
    if (type == nullptr) return Fail("no such kind: " + plural);
    auto object = client_.Do(ApiRequest::GetMetadata(*type, ns_, name), {});
    if (!object) return Fail(object.error().message);
    const auto uid = object->document.root()["metadata"]["uid"].AsString().value_or("");
    auto gone = client_.Do(
        ApiRequest::Delete(*type, ns_, name, {uid}, PropagationPolicy::kBackground, false), {});
    return gone ? 0 : Fail(gone.error().message);
  }

  int Pod(const std::string& selector) {
    SystemClock clock;
    for (const MonotonicTime end = clock.Now() + kPodPatience; clock.Now() < end;) {
      auto pods = ItemsOf("pods", selector);
      if (!pods) return Fail(pods.error().message);
      if (!pods->empty()) {
        fmt::print("{}\n", pods->front().meta.name);
        return 0;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return Fail("there is no pod " + selector);
  }

 private:
  Result<std::vector<KubeObject>, ApiError> ItemsOf(const char* plural,
                                                    const std::string& selector) {
    const ResourceType& type = *FindBuiltInByName(plural, "");
    ApiRequest request = ApiRequest::ListBySelector(type, ns_, selector, false);
    std::vector<KubeObject> objects;
    auto read = client_.EachItem(request,
                                 [&](JsonValue item) {
                                   if (auto meta = ReadObjectMeta(item))
                                     objects.push_back({type, *std::move(meta)});
                                 },
                                 {});
    if (!read) return Unexpected{std::move(read).error()};
    return objects;
  }

  KubeClient& client_;
  std::string ns_;
};

int Run(const std::vector<std::string>& words, const std::map<std::string, std::string>& flags) {
  auto server =
      FindApiServer(flags.at("--kubeconfig"), "", [](const std::string&) { return std::nullopt; });
  if (!server) return Fail(server.error().message);
  auto transport = CurlTransport::Create(*server);
  if (!transport) return Fail(transport.error().message);
  SystemClock clock;
  TokenSource tokens(*server, clock);
  KubeClient client(**transport, tokens, [](const RequestRecord&) {});
  Objects objects(client, flags.at("--namespace"));
  if (words.size() == 2 && words[0] == "create") return objects.Create(words[1]);
  if (words.size() == 1 && words[0] == "list") return objects.List();
  if (words.size() == 1 && words[0] == "events") return objects.Events();
  if (words.size() == 3 && words[0] == "delete") return objects.Delete(words[1], words[2]);
  if (words.size() == 2 && words[0] == "pod") return objects.Pod(words[1]);
  if (words.size() == 1 && words[0] == "purge") {
    return objects.Delete("namespaces", flags.at("--namespace"));
  }
  return Fail("create FILE, list, events, delete PLURAL NAME, pod SELECTOR or purge");
}

}  // namespace
}  // namespace cluster_watcher

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags = {{"--kubeconfig", ""}, {"--namespace", ""}};
  std::vector<std::string> words;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (const std::string& word : arguments) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos && flags.contains(word.substr(0, equals))) {
      flags[word.substr(0, equals)] = word.substr(equals + 1);
    } else {
      words.push_back(word);
    }
  }
  return cluster_watcher::Run(words, flags);
}
