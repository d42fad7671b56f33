#include "watcher/admission/admission_review.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/base/printable.h"
#include "probes/base/result.h"
#include "probes/kube/base64.h"
#include "watcher/admission/injection.h"
#include "watcher/admission/misplaced_annotations.h"
#include "watcher/admission/pod_templates.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {
namespace {

constexpr char kApiVersion[] = "admission.k8s.io/v1";
constexpr char kKind[] = "AdmissionReview";
// kubectl shows this much of a warning; the API server cuts all warnings together at 4,096 bytes.
constexpr std::size_t kLongestWarning = 256;
constexpr std::size_t kMostWarnings = 12;
// Only a RayCluster can have as many pod templates, which all have to be checked in milliseconds.
constexpr std::size_t kMostTemplates = 64;
constexpr int kUnprocessable = 422;
// Counts lists, objects and their elements, each of which takes memory. No real object has so many.
constexpr std::ptrdiff_t kMostValues = 400'000;

struct Review {
  JsonDocument document;
  JsonValue request;
  std::string uid;
};

Result<Review> ParseReview(std::string_view body) {
  if (body.empty()) return Failure("the body is empty: post an AdmissionReview");
  const auto opens_value = [](char c) { return c == ',' || c == '[' || c == '{'; };
  if (std::count_if(body.begin(), body.end(), opens_value) > kMostValues) {
    return Failure("the body holds more than " + std::to_string(kMostValues) + " values");
  }
  auto document = JsonDocument::Parse(body);
  if (!document) return Failure("the body is not JSON: " + document.error().message);
  const JsonValue root = document->root();
  if (root["kind"].AsString() != kKind || root["apiVersion"].AsString() != kApiVersion) {
    return Failure("the body is not an AdmissionReview of " + std::string(kApiVersion) +
                   ": set admissionReviewVersions: [v1]");
  }
  const JsonValue request = root["request"];
  const std::string uid(request["uid"].AsString().value_or(""));
  if (uid.empty()) return Failure("the AdmissionReview has no request.uid");
  return Review{*std::move(document), request, uid};
}

// Objects made by a controller are never refused: a running master would not come back after a
// drain.
bool HasController(JsonValue object) {
  for (JsonValue reference : object["metadata"]["ownerReferences"].Elements()) {
    if (reference["controller"].AsBool() == true) return true;
  }
  return false;
}

std::string Shortened(const std::string& warning) {
  if (warning.size() <= kLongestWarning) return warning;
  return std::string(CutText(warning, kLongestWarning - 3)) + "...";
}

AdmissionAnswer Answer(const std::string& uid, const std::vector<PatchOperation>& patch,
                       const std::vector<std::string>& warnings,
                       const std::optional<std::string>& refusal) {
  JsonWriter json;
  json.StartObject().Field("apiVersion", kApiVersion).Field("kind", kKind);
  json.Key("response").StartObject().Field("uid", uid).Key("allowed").Bool(!refusal);
  if (refusal) {
    json.Key("status").StartObject().Key("code").Integer(kUnprocessable);
    json.Field("reason", "Invalid").Field("message", Printable(*refusal)).EndObject();
  }
  if (!patch.empty()) {
    json.Field("patchType", "JSONPatch").Field("patch", EncodeBase64(PatchText(patch)));
  }
  if (!warnings.empty()) {
    json.Key("warnings").StartArray();
    for (std::size_t i = 0; i < std::min(warnings.size(), kMostWarnings); ++i) {
      json.String(Shortened("cluster-watcher: " + Printable(warnings[i])));
    }
    json.EndArray();
  }
  return {200, "application/json", json.EndObject().EndObject().Text(), "", ""};
}

// Returns pod "lab/bob-m-". A new object may still lack its final name, and its name is unchecked
// input.
std::string Describe(JsonValue request) {
  const JsonValue meta = request["object"]["metadata"];
  const auto text = [](JsonValue value) { return std::string(value.AsString().value_or("")); };
  std::string name = text(request["name"]);
  if (name.empty()) name = text(meta["name"]);
  if (name.empty()) name = text(meta["generateName"]);
  const std::string kind = LowerCase(text(request["kind"]["kind"]));
  return (IsKindName(kind) ? kind : Quoted(kind)) + " " +
         Quoted(text(request["namespace"]) + "/" + name);
}

bool IsNewPod(JsonValue request) {
  const JsonValue kind = request["kind"];
  return request["operation"].AsString() == "CREATE" && kind["kind"].AsString() == "Pod" &&
         kind["group"].AsString().value_or("").empty() && kind["version"].AsString() == "v1" &&
         request["subResource"].AsString().value_or("").empty();
}

// The pod of the object's namespace that the requester's token is bound to; "": none.
// Source: kubernetes.io "Managing Service Accounts", bound service account tokens.
std::string CreatorOf(JsonValue request) {
  const JsonValue user = request["userInfo"];
  const std::string account =
      "system:serviceaccount:" + std::string(request["namespace"].AsString().value_or("")) + ":";
  if (!user["username"].AsString().value_or("").starts_with(account)) return "";
  return std::string(
      user["extra"]["authentication.kubernetes.io/pod-name"].At(0).AsString().value_or(""));
}

// Tells a final object's author what becomes of its pods. Nobody reads the warnings about pods
// that a controller made, so that their workload's has them. A pod's own were said when it was
// patched, but for one that asked for nothing then.
std::vector<std::string> WarningsOf(JsonValue request, const std::vector<PodTemplate>& templates,
                                    const InjectionSettings& settings) {
  std::vector<std::string> warnings;
  for (const PodTemplate& pod_template : templates) {
    const Injection injection = InjectionWithoutPatch(pod_template.pod, settings);
    if (!pod_template.path.empty()) {
      std::copy(injection.warnings.begin(), injection.warnings.end(), std::back_inserter(warnings));
    } else if (IsNewPod(request) && injection.outcome == Injection::Outcome::kInjected) {
      warnings.push_back(
          "the pod asks for a watcher and has none: what asks for it came after the injection, "
          "from another webhook or policy: write it on the pod yourself");
    }
  }
  if (templates.empty() || HasController(request["object"])) return warnings;
  for (std::string& line : MisplacedAnnotations(request["object"], request["oldObject"])) {
    warnings.push_back(std::move(line));
  }
  return warnings;
}

AnnotationProblems ProblemsOf(const std::vector<PodTemplate>& templates,
                              const InjectionSettings& settings) {
  AnnotationProblems problems(settings.profiles);
  for (const PodTemplate& pod_template : templates) problems.Add(pod_template.pod);
  return problems;
}

}  // namespace

AdmissionAnswer AnswerError(int status, const std::string& message) {
  return {status, "text/plain; charset=utf-8", message + "\n", "error", message};
}

AdmissionAnswer AnswerMutate(std::string_view body, const InjectionSettings& settings) {
  const auto review = ParseReview(body);
  if (!review) return AnswerError(400, review.error().message);
  Injection injection;
  if (IsNewPod(review->request)) injection = Inject(review->request["object"], settings);
  AdmissionAnswer answer = Answer(review->uid, injection.patch, injection.warnings, std::nullopt);
  answer.result = ToString(injection.outcome);
  if (injection.outcome == Injection::Outcome::kInjected ||
      injection.outcome == Injection::Outcome::kLeftAlone) {
    answer.log = Describe(review->request) + " " + answer.result;
    if (!injection.warnings.empty()) answer.log += ": " + Joined(injection.warnings);
  }
  return answer;
}

AdmissionAnswer AnswerOwner(std::string_view body) {
  const auto review = ParseReview(body);
  if (!review) return AnswerError(400, review.error().message);
  const JsonValue request = review->request;
  const JsonValue meta = request["object"]["metadata"];
  const std::string creator = CreatorOf(request);
  std::vector<PatchOperation> patch;
  if (!creator.empty() && request["operation"].AsString() == "CREATE" && meta.IsObject() &&
      meta["ownerReferences"].size() == 0 && !meta["annotations"][annotation::kOwner].Exists()) {
    if (!meta["annotations"].IsObject()) patch.push_back({"/metadata/annotations", "{}"});
    patch.push_back({"/metadata/annotations/cluster-watcher~1owner",
                     JsonWriter().String("pod/" + creator).Text()});
  }
  AdmissionAnswer answer = Answer(review->uid, patch, {}, std::nullopt);
  answer.result = patch.empty() ? "not-asked" : "owned";
  if (!patch.empty()) answer.log = Describe(request) + " is owned by pod " + Quoted(creator);
  return answer;
}

AdmissionAnswer AnswerValidate(std::string_view body, const InjectionSettings& settings,
                               bool reject_invalid) {
  const auto review = ParseReview(body);
  if (!review) return AnswerError(400, review.error().message);
  const JsonValue request = review->request;
  const bool is_whole = request["subResource"].AsString().value_or("").empty();
  const JsonValue object = is_whole ? request["object"] : JsonValue();
  std::vector<PodTemplate> templates = PodTemplatesOf(object);
  const std::size_t unchecked = templates.size() - std::min(templates.size(), kMostTemplates);
  templates.resize(templates.size() - unchecked);
  const AnnotationProblems problems = ProblemsOf(templates, settings);
  std::vector<std::string> warnings = problems.Lines();
  std::optional<std::string> refusal;
  if (reject_invalid && !HasController(object)) {
    std::vector<PodTemplate> before = PodTemplatesOf(request["oldObject"]);
    before.resize(std::min(before.size(), kMostTemplates));
    std::vector<std::string> fresh = problems.Since(ProblemsOf(before, settings));
    if (fresh.size() > kMostWarnings) fresh.resize(kMostWarnings);
    if (!fresh.empty()) refusal = Joined(fresh);
  }
  for (std::string& warning : WarningsOf(request, templates, settings)) {
    warnings.push_back(std::move(warning));
  }
  if (unchecked > 0) {
    warnings.insert(warnings.begin(), "only the first " + std::to_string(kMostTemplates) +
                                          " of its pod templates are checked, " +
                                          std::to_string(unchecked) + " are not");
  }
  if (refusal) warnings.clear();
  AdmissionAnswer answer = Answer(review->uid, {}, warnings, refusal);
  answer.result = refusal ? "rejected" : warnings.empty() ? "valid" : "warned";
  if (refusal) answer.log = Describe(request) + " rejected: " + *refusal;
  return answer;
}

}  // namespace cluster_watcher
