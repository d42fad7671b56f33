// AdmissionReviews (admission.k8s.io/v1): the body of a request in, the answer out. Pure. Source:
// kubernetes.io "Dynamic Admission Control", k8s.io/api/admission/v1.
#pragma once

#include <string>
#include <string_view>

#include "watcher/admission/injection_settings.h"

namespace cluster_watcher {

// An HTTP answer: an AdmissionReview with 200, or plain text that says what the request lacks.
struct AdmissionAnswer {
  int status = 200;
  std::string content_type;
  std::string body;
  std::string result;  // for the metric: a word of AdmissionMetrics
  std::string log;     // one line about the object; empty: nothing to tell
};

// A new Pod is patched (see Inject). Whatever else is asked about is let through as it is.
AdmissionAnswer AnswerMutate(std::string_view body, const InjectionSettings& settings);

// A Pod, or a workload's pod templates: their annotations are looked at, and of templates whether
// their pods can be injected. What is wrong is answered as warnings. With `reject_invalid` an
// object whose annotations the watcher would refuse is refused, but not for those that it had
// before the update, and no object that a controller makes.
AdmissionAnswer AnswerValidate(std::string_view body, const InjectionSettings& settings,
                               bool reject_invalid);

// A failure of HTTP: `message` as text.
AdmissionAnswer AnswerError(int status, const std::string& message);

}  // namespace cluster_watcher
