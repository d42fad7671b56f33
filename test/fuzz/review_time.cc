// Fuzzes the time that one AdmissionReview takes of the webhook's thread: a few milliseconds more
// than the bare parser needs for its bytes, however large and odd it is. Each byte of the input
// adds much of something to the object; large_review.h says what there is.
#include "test/fuzz/review_clock.h"

#include <cstdio>
#include <string>
#include <string_view>

#include "test/fuzz/fuzz.h"
#include "test/fuzz/large_review.h"

namespace cluster_watcher {
namespace {

// Without optimization our code is slower than the parser: 10 times at most over the whole corpus.
constexpr double kSlowness = 20;
constexpr double kParses = 3;
constexpr double kBudget = 5;  // milliseconds
// Of what an API server takes; what isn't linear shows all the same, and more is tried.
constexpr std::size_t kPart = 8;
constexpr int kTries = 3;

}  // namespace

void TryInput(std::string_view input) {
  if (input.empty()) return;
  const std::string_view parts = input.substr(1, 8);
  const int form = static_cast<unsigned char>(input.front()) % 4;
  const bool is_update = form % 2 == 1;
  const bool is_pod = form < 2;
  const std::size_t largest = (is_update ? kLargestStored : kLargestObject) / kPart;
  const std::size_t room = is_pod ? largest : largest / 64;
  LargePod pod;
  for (const char part : parts) {
    const std::size_t plenty = static_cast<unsigned char>(part) % kPlenties;
    pod.Add(static_cast<Plenty>(plenty), room / parts.size());
  }
  const std::string object = is_pod ? PodObject(pod) : RayClusterObject(pod, largest);
  const std::string review =
      ReviewOf(is_pod ? "Pod" : "RayCluster", object, is_update ? object : std::string());
  InjectionSettings settings;
  settings.image = "cluster-watcher:0.1.0";
  const auto is_in_time = [](const ReviewTime& time) {
    return time.review <= (kParses * time.parse + kBudget) * kSlowness;
  };
  // A second look, because others use the machine.
  const ReviewTime first = TimeOf(review, settings, 1);
  if (is_in_time(first)) return;
  const ReviewTime time = TimeOf(review, settings, kTries);
  std::fprintf(stderr, "parse %.1f ms, review %.1f ms\n", time.parse, time.review);
  Require(is_in_time(time), "a review takes little more time than its bytes");
}

}  // namespace cluster_watcher
