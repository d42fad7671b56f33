// Prints what the largest AdmissionReviews cost the webhook's thread, in milliseconds of CPU time:
//
//   review_time [TRIES]
#include <cstdio>
#include <cstdlib>

#include "test/bench/large_review.h"
#include "test/bench/review_clock.h"

namespace cluster_watcher {
namespace {

int Run(int tries) {
  InjectionSettings settings;
  settings.image = "cluster-watcher:0.1.0";
  std::printf("%-22s %-12s %6s %7s %7s %7s\n", "much of", "kind", "MB", "parse", "review",
              "beyond");
  const auto show = [&](const char* what, const char* kind, const std::string& review) {
    const ReviewTime time = TimeOf(review, settings, tries);
    std::printf("%-22s %-12s %6.2f %7.2f %7.2f %7.2f\n", what, kind,
                static_cast<double>(review.size()) / 1e6, time.parse, time.review, time.Beyond());
  };
  {
    LargePod pod;
    show("nothing", "Pod", ReviewOf("Pod", PodObject(pod), ""));
  }
  for (std::size_t i = 0; i < kPlenties; ++i) {
    const auto plenty = static_cast<Plenty>(i);
    LargePod created, updated, stored, part;
    created.Add(plenty, kLargestObject);
    show(kPlentyNames[i], "Pod", ReviewOf("Pod", PodObject(created), ""));
    stored.Add(plenty, kLargestStored);
    const std::string old = PodObject(stored);
    show(kPlentyNames[i], "Pod, update", ReviewOf("Pod", old, old));
    part.Add(plenty, 1'000);
    show(kPlentyNames[i], "RayCluster",
         ReviewOf("RayCluster", RayClusterObject(part, kLargestObject), ""));
  }
  return 0;
}

}  // namespace
}  // namespace cluster_watcher

int main(int argc, char** argv) { return cluster_watcher::Run(argc > 1 ? std::atoi(argv[1]) : 5); }
