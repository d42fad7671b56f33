// Builds the largest AdmissionReviews that an API server can send, as somebody would who wants to
// keep the webhook's thread: an object of up to 3 MiB, and with an update the old one of up to 1.5
// MiB (the limits of a request and of etcd).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "probes/base/json.h"

namespace cluster_watcher {

inline constexpr std::size_t kLargestObject = std::size_t{3} << 20;
inline constexpr std::size_t kLargestStored = std::size_t{3} << 19;

// What there is much of in an object. Each is added until the text is as large as it may be.
enum class Plenty {
  kUnknownAnnotations,
  kForeignAnnotations,
  kShortKeys,  // of annotations
  kReversedKeys,
  kLongValues,
  kSteps,
  kResources,
  kLabels,
  kOwnerReferences,
  kContainers,
  kInitContainers,
  kPorts,
  kEnvironment,
  kVolumes,
  kNesting,
  kEscapes,
  kUnicode,
  kNumbers,
};
inline constexpr std::size_t kPlenties = 18;
inline constexpr std::array<const char*, kPlenties> kPlentyNames = {"unknown annotations",
                                                                    "foreign annotations",
                                                                    "short keys",
                                                                    "reversed keys",
                                                                    "long values",
                                                                    "steps",
                                                                    "resources",
                                                                    "labels",
                                                                    "owners",
                                                                    "containers",
                                                                    "init containers",
                                                                    "ports",
                                                                    "environment",
                                                                    "volumes",
                                                                    "nesting",
                                                                    "escapes",
                                                                    "unicode",
                                                                    "numbers"};

// A pod or a pod template, written part by part.
class LargePod {
 public:
  void Add(Plenty plenty, std::size_t size) {
    switch (plenty) {
      case Plenty::kUnknownAnnotations:
        return Repeat(annotations_, size, [](int i) { return Pair("cluster-watcher/", i, ""); });
      case Plenty::kForeignAnnotations:
        return Repeat(annotations_, size, [](int i) { return Pair("example.com/", i, "value"); });
      case Plenty::kShortKeys:
        return Repeat(annotations_, size, [](int i) { return Pair("", i, ""); });
      case Plenty::kReversedKeys:
        return Repeat(annotations_, size,
                      [](int i) { return Pair("cluster-watcher/z", 9'000'000 - i, ""); });
      case Plenty::kLongValues:
        for (const char* name : {"owner", "completed-when", "hold-until", "steps-deadline"}) {
          Add(annotations_, Quote(std::string("cluster-watcher/") + name) + ":" +
                                Quote(std::string(size / 4, '1')));
        }
        return;
      case Plenty::kSteps: {
        std::string steps;
        Repeat(steps, std::min<std::size_t>(size, 65'000), [](int i) {
          return R"({"name":")" + std::to_string(i) + R"(","http":{"url":"http://h"}})";
        });
        for (const char* name : {"before", "after"}) {
          Add(annotations_, Quote(std::string("cluster-watcher/") + name + "-delete") + ":" +
                                Quote("[" + steps + "]"));
        }
        return;
      }
      case Plenty::kResources: {
        std::string names;
        Repeat(names, std::min<std::size_t>(size, 4'000),
               [](int i) { return "x" + std::to_string(i); });
        return Add(annotations_, Quote("cluster-watcher/resources") + ":" + Quote(names));
      }
      case Plenty::kLabels:
        return Repeat(labels_, size, [](int i) { return Pair("example.com/", i, "value"); });
      case Plenty::kOwnerReferences:
        return Repeat(owners_, size, [](int i) { return "{" + Pair("u", i, "d") + "}"; });
      case Plenty::kContainers:
        return Repeat(containers_, size, [](int i) { return Container(i, "[]"); });
      case Plenty::kInitContainers:
        return Repeat(init_containers_, size, [](int i) { return Container(i, "[]"); });
      case Plenty::kPorts: {
        std::string ports;
        Repeat(ports, size,
               [](int i) { return R"({"containerPort":)" + std::to_string(10'000 + i) + "}"; });
        return Add(containers_, Container(-1, "[" + ports + "]"));
      }
      case Plenty::kEnvironment: {
        std::string variables;
        Repeat(variables, size,
               [](int i) { return R"({"name":"N)" + std::to_string(i) + R"(","value":"v"})"; });
        return Add(containers_, R"({"name":"e","env":[)" + variables + "]}");
      }
      case Plenty::kVolumes:
        return Repeat(volumes_, size, [](int i) { return "{" + Pair("name", i, "v") + "}"; });
      case Plenty::kNesting:
        return Repeat(rest_, size, [](int) { return std::string(50, '[') + std::string(50, ']'); });
      case Plenty::kEscapes:
        return Repeat(rest_, size, [](int) { return R"("\u003c\u003e\u0026\u003c\u003e\u0026")"; });
      case Plenty::kUnicode:
        return Repeat(rest_, size,
                      [](int) { return Quote("\u00e9\u2603\U0001f600\u00e9\u2603\u00e9"); });
      case Plenty::kNumbers:
        return Repeat(rest_, size, [](int i) { return "1." + std::to_string(100'000'000 + i); });
    }
  }

  // Returns the members of a pod; it asks for the sidecar.
  std::string Members() const {
    return R"("metadata":{"name":"bob","annotations":{)" + annotations_ +
           R"(},"labels":{"oshinko-type":"master")" + (labels_.empty() ? "" : ",") + labels_ +
           R"(},"ownerReferences":[)" + owners_ +
           R"(]},"spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"m"})" +
           (containers_.empty() ? "" : ",") + containers_ + R"(],"initContainers":[)" +
           init_containers_ + R"(],"volumes":[)" + volumes_ + R"(],"rest":[)" + rest_ + "]}";
  }

 private:
  // The keys of an object differ because the numbers do.
  static std::string Pair(std::string_view prefix, int i, std::string_view value) {
    return Quote(std::string(prefix) + std::to_string(1'000'000 + i)) + ":" + Quote(value);
  }
  static std::string Container(int i, const std::string& ports) {
    return R"({"name":"c)" + std::to_string(i) + R"(","ports":)" + ports + "}";
  }
  static std::string Quote(std::string_view text) { return JsonWriter().String(text).Text(); }
  static void Add(std::string& list, const std::string& one) {
    if (!list.empty()) list += ',';
    list += one;
  }
  template <typename Make>
  void Repeat(std::string& list, std::size_t size, Make make) {
    for (const std::size_t end = list.size() + size; list.size() < end;) Add(list, make(count_++));
  }

  int count_ = 0;
  std::string annotations_, labels_, owners_, containers_, init_containers_, volumes_, rest_;
};

inline std::string ReviewOf(std::string_view kind, const std::string& object,
                            const std::string& old_object) {
  const bool is_pod = kind == "Pod";
  return std::string(
             R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{)") +
         R"("uid":"u-1","namespace":"lab","operation":")" +
         (old_object.empty() ? "CREATE" : "UPDATE") + R"(","kind":{"group":")" +
         (is_pod ? "" : "ray.io") + R"(","version":"v1","kind":")" + std::string(kind) +
         R"("},"object":)" + object + (old_object.empty() ? "" : R"(,"oldObject":)" + old_object) +
         "}}";
}

inline std::string PodObject(const LargePod& pod) {
  return R"({"apiVersion":"v1","kind":"Pod",)" + pod.Members() + "}";
}

// Returns a RayCluster of at most `size` bytes whose worker groups all have this pod template.
inline std::string RayClusterObject(const LargePod& pod, std::size_t size) {
  const std::string group = R"({"template":{)" + pod.Members() + "}}";
  std::string groups = group;
  while (groups.size() + group.size() + 200 < size) groups += "," + group;
  return R"({"apiVersion":"ray.io/v1","kind":"RayCluster","spec":{"workerGroupSpecs":[)" + groups +
         "]}}";
}

}  // namespace cluster_watcher
