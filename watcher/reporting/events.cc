#include "watcher/reporting/events.h"

#include <algorithm>
#include <ctime>

#include "probes/base/json.h"
#include "probes/base/names.h"
#include "probes/base/printable.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kLongestNote = 1024;
constexpr std::size_t kLongestInstance = 128;
constexpr Duration kTimeout = std::chrono::seconds(2);

const ResourceType& Events() {
  static const ResourceType events{"events.k8s.io", "v1", "events", "Event", true};
  return events;
}

// eventTime is written with microseconds.
std::string MicroTime(WallTime time) {
  std::string text = FormatTime(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
                          time - std::chrono::floor<std::chrono::seconds>(time))
                          .count();
  std::string fraction = std::to_string(micros);
  fraction.insert(0, 6 - fraction.size(), '0');
  text.insert(text.size() - 1, "." + fraction);
  return text;
}

}  // namespace

Regarding Regarding::Object(const KubeObject& object) {
  return {object.type->ApiVersion(), object.type->kind, object.meta.ns(), object.meta.name,
          object.meta.uid};
}

Regarding Regarding::Namespace(const std::string& ns) { return {"v1", "Namespace", ns, ns, ""}; }

std::string FitNote(std::string_view before, std::string middle, std::string_view after) {
  constexpr std::string_view kCut = "...";
  middle = Printable(middle);
  const std::size_t rest = before.size() + after.size();
  if (rest + middle.size() > kLongestNote) {
    middle.resize(
        CutText(middle, kLongestNote - std::min(kLongestNote, rest + kCut.size())).size());
    middle += kCut;
  }
  return std::string(before) + middle + std::string(after);
}

EventRecorder::EventRecorder(KubeClient& client, Clock& clock, spdlog::logger& log,
                             std::string instance)
    : client_(client), clock_(clock), log_(log), instance_(CutText(instance, kLongestInstance)) {}

std::vector<std::optional<ApiFailure>> EventRecorder::Record(
    const std::vector<Regarding>& regarding, EventType type, std::string_view reason,
    std::string_view action, std::string note, std::stop_token stop) {
  note = Printable(note);
  note.resize(CutText(note, kLongestNote).size());
  std::vector<ApiRequest> requests;
  for (const Regarding& object : regarding) {
    requests.push_back(MakeRequest(object, type, reason, action, note));
  }
  std::vector<std::optional<ApiFailure>> failures;
  for (const ApiResult& answer :
       client_.DoAll(requests, kReadsSideBySide, stop, RetryAfter::kIgnore)) {
    failures.push_back(answer ? std::nullopt : std::optional(answer.error().failure));
    if (!answer) log_.debug("the event {} was not written: {}", reason, answer.error().message);
  }
  return failures;
}

ApiRequest EventRecorder::MakeRequest(const Regarding& regarding, EventType type,
                                      std::string_view reason, std::string_view action,
                                      std::string_view note) {
  JsonWriter body;
  body.StartObject().Field("apiVersion", "events.k8s.io/v1").Field("kind", "Event");
  body.Key("metadata").StartObject();
  body.Field("generateName", "cluster-watcher-").Field("namespace", regarding.ns).EndObject();
  body.Field("eventTime", MicroTime(clock_.WallNow()));
  body.Field("type", type == EventType::kWarning ? "Warning" : "Normal");
  body.Field("reason", reason).Field("action", action);
  body.Field("reportingController", "cluster-watcher").Field("reportingInstance", instance_);
  body.Key("regarding").StartObject().Field("apiVersion", regarding.api_version);
  body.Field("kind", regarding.kind).Field("namespace", regarding.ns).Field("name", regarding.name);
  if (!regarding.uid.empty()) body.Field("uid", regarding.uid);
  body.EndObject().Field("note", note).EndObject();
  ApiRequest request = ApiRequest::Create(Events(), regarding.ns, body.Text());
  request.http.timeout = kTimeout;
  return request;
}

}  // namespace cluster_watcher
