#include "watcher/driver/who_acts.h"

#include <random>
#include <string_view>

namespace cluster_watcher {
namespace {

// As in the names that Kubernetes generates: without vowels there are no words.
constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
constexpr int kLength = 10;

}  // namespace

WatcherId SomeCommand() {
  std::random_device random;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  WatcherId id{"cli", ""};
  for (int i = 0; i < kLength; ++i) id.uid += kLetters[letter(random)];
  return id;
}

WatcherId WhoActs(const DriverTools& tools, const std::string& ns, const std::string& pod,
                  const std::string& pod_ns) {
  if (pod.empty() || pod_ns != ns) return SomeCommand();
  const ResourceType& pods = *FindBuiltInByName("pods", "");
  const auto answer = tools.client.Do(ApiRequest::GetMetadata(pods, ns, pod), tools.Reads());
  if (!answer) return SomeCommand();
  const auto meta = ReadObjectMeta(answer->document.root());
  return meta ? WatcherId{pod, meta->uid} : SomeCommand();
}

}  // namespace cluster_watcher
