#include "watcher/deletion/member_listing.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "probes/base/names.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

const ResourceType& ClaimType() { return *FindBuiltInByName("persistentvolumeclaims", ""); }
const ResourceType& SetType() { return *FindBuiltInByName("statefulsets", "apps"); }

}  // namespace

bool ClaimingSet::HasMade(const ObjectMeta& claim) const {
  const bool is_labelled = std::all_of(selector.begin(), selector.end(), [&](const auto& label) {
    return claim.Label(label.first) == label.second;
  });
  return is_labelled && std::any_of(templates.begin(), templates.end(), [&](const auto& name) {
           const std::string prefix = name + "-" + object.meta.name + "-";
           return claim.name.size() > prefix.size() && claim.name.starts_with(prefix) &&
                  claim.name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
         });
}

MemberListing::MemberListing(const Tools& tools, WarnOnce& warn_once, ClusterId cluster,
                             bool is_asked)
    : tools_(tools), warn_once_(warn_once), cluster_(std::move(cluster)), is_asked_(is_asked) {}

MemberListing::Listed MemberListing::List(const Patience& patience) {
  if (refresh_kinds_) {
    if (auto fresh = tools_.discovery.Refresh(patience); !fresh) warn_once_(fresh.error().message);
  }
  MemberKinds kinds = FindMemberKinds(*tools_.settings, tools_.discovery, patience);
  std::vector<ResourceType> types = OtherKinds(kinds, patience);
  types.insert(types.end(), kinds.types.begin(), kinds.types.end());
  for (const ApiError& error : kinds.errors) warn_once_(error.message);
  for (const std::string& kind : kinds.not_served) {
    Skip(SplitKindName(kind).kind, "not-found", kind + ": not served");
  }
  Listed listed;
  const std::vector<ApiRequest> requests = Requests(types);
  auto read = ReadAll(requests, listed, patience);
  AskAgain(requests, read, listed, patience);
  NoteKinds(kinds, requests, read, listed);
  std::erase_if(listed.objects, [&](const KubeObject& object) {
    if (Has(kinds.types, object.type)) return false;
    if (IsKept(object)) listed.kept.push_back(object);
    return true;
  });
  AddUses(listed, patience);
  return listed;
}

// A custom resource that has any isn't finalized. They don't carry the cluster's label.
void MemberListing::AddUses(Listed& listed, const Patience& patience) {
  const auto& uses = cluster_.profile->uses;
  if (!uses || !uses->blocks) return;
  const auto fails = [&](const ApiError& error) {
    warn_once_(error.message);
    if (error.failure == ApiFailure::kForbidden) {
      return Skip(uses->resource.kind, "forbidden",
                  uses->resource.ToText() + ": the account may not list them");
    }
    listed.failed.push_back(error.message);
    listed.complete = false;
  };
  const auto type = ClusterProbe(tools_.client, tools_.discovery).UsesType(cluster_, patience);
  if (!type) return fails(type.error());
  if (!*type) return;
  const auto read = tools_.client.EachItem(
      ApiRequest::List(**type, cluster_.ns),
      [&](JsonValue item) {
        auto meta = ReadObjectMeta(item);
        const auto is_of_cluster = uses->IsOf(item, cluster_.name);
        if (!meta || !is_of_cluster || !*is_of_cluster) return;
        if (is_asked_ || uses->HasEnded(item)) listed.objects.push_back({**type, *std::move(meta)});
      },
      patience);
  if (!read) fails(read.error());
}

std::vector<ResourceType> MemberListing::OtherKinds(MemberKinds& kinds,
                                                    const Patience& patience) const {
  if (tools_.settings->resources.empty()) return {};
  MemberKinds built_in = FindMemberKinds(Settings(), tools_.discovery, patience);
  std::erase_if(built_in.types, [&](const ResourceType& type) { return Has(kinds.types, type); });
  kinds.errors.insert(kinds.errors.end(), built_in.errors.begin(), built_in.errors.end());
  return std::move(built_in.types);
}

std::vector<ApiRequest> MemberListing::Requests(std::span<const ResourceType> types) const {
  std::vector<ApiRequest> requests = {ApiRequest::ListMetadata(ClaimType(), cluster_.ns),
                                      ApiRequest::List(SetType(), cluster_.ns)};
  for (const ResourceType& type : types) {
    if (type == ClaimType() || type == SetType()) continue;
    requests.push_back(ApiRequest::ListBySelector(type, cluster_.ns, cluster_.Selector(), true));
  }
  return requests;
}

void MemberListing::Note(const ApiRequest& request, JsonValue item, Listed& listed) const {
  auto meta = ReadObjectMeta(item);
  if (!meta) return;  // the client refuses a list with such an object
  if (request.type == SetType()) NoteSet(request, item, *meta, listed);
  const bool is_claim = request.type == ClaimType();
  const bool may_be_made = is_claim && std::isdigit(static_cast<unsigned char>(meta->name.back()));
  const bool matters = is_claim ? may_be_made || !meta->owner_references().empty() ||
                                      meta->Label(cluster_.label()).has_value()
                                : cluster_.Owns(*meta);
  if (!matters) return;
  if (!is_claim) cluster_.DropWhatSaysNothing(*meta);
  KubeObjects& objects = is_claim ? listed.claims : listed.objects;
  if (!objects.empty()) meta->common.ShareWith(objects.back().meta.common);
  // Objects of one kind share it.
  const bool is_first = objects.empty() || !(*objects.back().type == request.type);
  Shared<ResourceType> type = is_first ? Shared<ResourceType>(request.type) : objects.back().type;
  objects.push_back({std::move(type), *std::move(meta)});
}

void MemberListing::NoteSet(const ApiRequest& request, JsonValue item, const ObjectMeta& meta,
                            Listed& listed) const {
  const JsonValue spec = item["spec"];
  if (spec["volumeClaimTemplates"].size() == 0) return;
  ClaimingSet set{KubeObject{request.type, meta}, {}, {}, false};
  for (const JsonValue made_from : spec["volumeClaimTemplates"].Elements()) {
    set.templates.emplace_back(made_from["metadata"]["name"].AsString().value_or(""));
  }
  // Its controller ignores the selector's expressions.
  for (const auto& [key, value] : spec["selector"]["matchLabels"].Members()) {
    set.selector.emplace(key, value.AsString().value_or(""));
  }
  set.deletes_claims =
      spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"].AsString() == "Delete";
  listed.sets.push_back(std::move(set));
}

void MemberListing::NoteKinds(const MemberKinds& kinds, const std::vector<ApiRequest>& requests,
                              const std::vector<Result<Done, ApiError>>& read, Listed& listed) {
  for (const ApiError& error : kinds.errors) listed.failed.push_back(error.message);
  std::set<std::string> now;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ResourceType& type = requests[i].type;
    if (read[i]) {
      now.insert(type.QualifiedName());
      continue;
    }
    const ApiError& error = read[i].error();
    const bool is_forbidden = error.failure == ApiFailure::kForbidden;
    const bool tells_of_claims = type == ClaimType() || type == SetType();
    // Whoever leaves a kind out leaves it out of a Role, too.
    if (is_forbidden && !tells_of_claims && !Has(kinds.types, type)) continue;
    warn_once_(error.message);
    if (tells_of_claims && (!listed.claims_problem || IsTransient(error.failure))) {
      listed.claims_problem = error;
    }
    if (is_forbidden) {
      Skip(type.plural, "forbidden", type.QualifiedName() + ": the account may not list them");
    } else {
      listed.failed.push_back(error.message);
    }
  }
  // A kind that is no longer served is gone with its definition.
  if (kinds.errors.empty()) {
    std::erase_if(readable_, [&](const std::string& kind) {
      return std::none_of(requests.begin(), requests.end(), [&](const ApiRequest& request) {
        return request.type.QualifiedName() == kind;
      });
    });
  }
  // A kind that could be listed before and no longer can isn't known to be empty.
  readable_.insert(now.begin(), now.end());
  listed.complete = kinds.errors.empty() && listed.failed.empty() && now.size() == readable_.size();
  refresh_kinds_ = !listed.complete;
}

std::vector<Result<Done, ApiError>> MemberListing::ReadAll(const std::vector<ApiRequest>& requests,
                                                           Listed& listed,
                                                           const Patience& patience) const {
  return tools_.client.EachItemSideBySide(
      requests, static_cast<std::size_t>(tools_.settings->concurrency),
      [&](std::size_t which, JsonValue item) { Note(requests[which], item, listed); }, patience);
}

// One refusal proves little: an authorizer may lag behind, and what is of a kind may have to stay.
void MemberListing::AskAgain(const std::vector<ApiRequest>& requests,
                             std::vector<Result<Done, ApiError>>& read, Listed& listed,
                             const Patience& patience) {
  std::vector<ApiRequest> again;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool is_new = !read[i] && read[i].error().failure == ApiFailure::kForbidden &&
                        forbidden_.insert(requests[i].type.QualifiedName()).second;
    if (!is_new) continue;
    again.push_back(requests[i]);
    of.push_back(i);
  }
  if (again.empty()) return;
  auto answers = ReadAll(again, listed, patience);
  for (std::size_t i = 0; i < of.size(); ++i) read[of[i]] = std::move(answers[i]);
}

void MemberListing::Skip(const std::string& plural, const char* result, std::string why) {
  if (std::find(skipped_.begin(), skipped_.end(), why) != skipped_.end()) return;
  tools_.metrics.Deleted(plural, result);
  tools_.log.warn("skipped {}", why);
  skipped_.push_back(std::move(why));
}

}  // namespace cluster_watcher
