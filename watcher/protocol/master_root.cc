#include "watcher/protocol/master_root.h"

#include <utility>

#include "probes/base/json.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {
namespace {

constexpr int kMostWrites = 4;

}  // namespace

RootState MasterRoot::Read(const Patience& patience, std::optional<Duration> timeout) {
  return Send(ApiRequest::GetMetadata(object_.type, object_.meta.ns(), object_.meta.name), patience,
              timeout);
}

RootState MasterRoot::ReadWhole(const Patience& patience) {
  return Send(ApiRequest::Get(object_.type, object_.meta.ns(), object_.meta.name), patience, {});
}

RootState MasterRoot::Send(ApiRequest request, const Patience& patience,
                           std::optional<Duration> timeout) {
  if (timeout) request.http.timeout = *timeout;
  auto answer = client_.Do(request, patience);
  if (!answer && answer.error().failure == ApiFailure::kNotFound) return RootState::kGone;
  if (!answer) {
    problem_ = std::move(answer).error();
    return RootState::kUnknown;
  }
  auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) {
    problem_ = {ApiFailure::kUnexpected, meta.error().message, std::nullopt};
    return RootState::kUnknown;
  }
  if (meta->uid != object_.meta.uid) return RootState::kReplaced;
  object_.meta = *std::move(meta);
  server_time_ = answer->server_time;
  whole_ = std::move(answer->document);
  return object_.meta.deleting ? RootState::kTerminating : RootState::kOurs;
}

ApiResult MasterRoot::WriteMarks(const AnnotationChanges& changes, std::optional<Duration> timeout,
                                 const Patience& patience) {
  MasterRoot now(client_, object_);
  for (int writes = 1;; ++writes) {
    const ObjectMeta& meta = now.object_.meta;
    ApiRequest request =
        ApiRequest::MergePatch(object_.type, meta.ns(), meta.name, MarksPatch(meta, changes));
    if (timeout) request.http.timeout = *timeout;
    auto written = client_.Do(request, patience);
    if (written || written.error().failure != ApiFailure::kConflict || writes == kMostWrites) {
      return written;
    }
    // An operator may write status so often that no look would be quick enough.
    const RootState state = now.Read({}, timeout);
    const bool is_there = state == RootState::kOurs || state == RootState::kTerminating;
    const bool is_same = is_there && HasOnlyNewStatus(object_.meta, now.object_.meta);
    if (!is_same) return written;
  }
}

std::optional<std::string> MasterRoot::PolicyAgainstMarks(const WatcherId& by) {
  const ObjectMeta& meta = object_.meta;
  JsonWriter patch;
  patch.StartObject().Key("metadata").StartObject().Field("uid", meta.uid);
  patch.Key("annotations").StartObject();
  patch.Field(annotation::kPhase, ToString(Phase::kCondemned));
  patch.Field(annotation::kCondemnedBy, by.ToText()).EndObject();
  patch.EndObject().EndObject();
  ApiRequest request = ApiRequest::MergePatch(object_.type, meta.ns(), meta.name, patch.Text());
  request.http.target += "?dryRun=All";
  request.http.timeout = kMarksTimeout;
  const auto tried = client_.Do(request, {});
  if (tried) return std::nullopt;
  problem_ = tried.error();
  return problem_.policy.empty() ? std::nullopt : std::optional(problem_.policy);
}

}  // namespace cluster_watcher
