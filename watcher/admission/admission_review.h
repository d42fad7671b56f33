// Answers AdmissionReviews (admission.k8s.io/v1): request body in, HTTP answer out, no I/O.
// Source: kubernetes.io "Dynamic Admission Control", k8s.io/api/admission/v1.
#pragma once

#include <string>
#include <string_view>

#include "watcher/admission/injection_settings.h"

namespace cluster_watcher {

// An HTTP answer: 200 with an AdmissionReview, or plain text that says what is wrong with the
// request.
struct AdmissionAnswer {
  int status = 200;
  std::string content_type;
  std::string body;
  std::string result;  // a result of AdmissionMetrics
  std::string log;     // one line about the object; empty if there is nothing to log
};

// Patches a new Pod as Inject says. Every other request is allowed unchanged.
AdmissionAnswer AnswerMutate(std::string_view body, const InjectionSettings& settings);

// Writes the pod that the requester's token is bound to as the owner of a new object. Whether it is
// a cluster that nobody owns is for the conditions of the webhook's configuration
// (manifests/chart/objects/webhook/mutating.yaml); here only what is owned by then, as another
// webhook may have had it.
AdmissionAnswer AnswerOwner(std::string_view body);

// Checks the annotations of a Pod or of a workload's pod templates, for templates also whether
// their pods can be injected, whether a new Pod that asks for the sidecar has it, and whether
// annotations stand on a workload instead of its pods. Problems become warnings. With
// `reject_invalid` an object is refused if the watcher would refuse its annotations; problems that
// it had before the update don't count, and objects with a controller are never refused.
AdmissionAnswer AnswerValidate(std::string_view body, const InjectionSettings& settings,
                               bool reject_invalid);

// Returns an HTTP error with `message` as plain text.
AdmissionAnswer AnswerError(int status, const std::string& message);

}  // namespace cluster_watcher
