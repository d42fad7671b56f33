// Measures what one AdmissionReview costs the webhook's thread, beside what the bare parser takes
// for the same bytes, which no reader of JSON can do without.
#pragma once

#include <rapidjson/document.h>
#include <time.h>

#include <algorithm>
#include <string>

#include "watcher/admission/admission_review.h"

namespace cluster_watcher {

// The CPU time of this thread, in milliseconds.
inline double ThreadMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

template <typename Work>
double MillisecondsOf(Work work) {
  const double begun = ThreadMilliseconds();
  work();
  return ThreadMilliseconds() - begun;
}

struct ReviewTime {
  double parse = 0;   // RapidJSON alone, in milliseconds
  double review = 0;  // the slower of the two answers

  double Beyond() const { return review - parse; }
};

// The least of `tries`: others on the machine only make it more.
inline ReviewTime TimeOf(const std::string& review, const InjectionSettings& settings, int tries) {
  ReviewTime least{1e9, 1e9};
  for (int i = 0; i < tries; ++i) {
    least.parse = std::min(least.parse, MillisecondsOf([&] {
                             rapidjson::Document document;
                             document.Parse(review.data(), review.size());
                           }));
    const double mutate = MillisecondsOf([&] { (void)AnswerMutate(review, settings); });
    const double validate = MillisecondsOf([&] { (void)AnswerValidate(review, settings, true); });
    least.review = std::min(least.review, std::max(mutate, validate));
  }
  return least;
}

}  // namespace cluster_watcher
