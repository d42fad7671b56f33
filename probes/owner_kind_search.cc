#include "probes/owner_kind_search.h"

#include <utility>

namespace cluster_watcher {
namespace {

// Searching all groups for a kind takes a request for each group, so a refusal is kept for a while.
constexpr int kLooksBetweenSearches = 11;

std::string MustBeJudgeable() {
  return "give a workload, such as a deployment or a job, or a custom resource";
}

}  // namespace

std::vector<ResourceType> OwnerKindSearch::Candidates(const OwnerQuery& query, OwnerSight& sight,
                                                      const Patience& patience) {
  if (!query.name.IsBare() || !query.only_kind.empty()) {
    const KindName kind = query.name.IsBare() ? SplitKindName(query.only_kind)
                                              : KindName{query.name.kind, query.name.group};
    auto type = NamedKind(kind, query, sight, patience);
    return type ? std::vector{*std::move(type)} : std::vector<ResourceType>();
  }
  std::vector<ResourceType> served;
  for (const ResourceType& type : BareNameTypes()) {
    auto resolved = discovery_.Resolve(type, patience);
    if (!resolved) {
      SetUnknown(sight, resolved.error());
      return {};
    }
    if (*resolved) {
      served.push_back(**resolved);
    } else if (query.recorded && query.recorded->kind == type.SingularName()) {
      sight.setting_problem = "the owner was seen as " + query.recorded->ToText() +
                              ", a kind that is not served any more";
      SetUnknown(sight, sight.setting_problem);
      return {};
    }
  }
  return served;
}

Result<const ResourceType*, ApiError> OwnerKindSearch::RecallKind(const std::string& kind,
                                                                  const OwnerQuery& query,
                                                                  const Patience& patience) {
  if (const auto before = named_.find(kind); before != named_.end()) return &before->second;
  if (!query.recorded) return nullptr;
  const KindName recorded = SplitKindName(query.recorded->kind);
  const ResourceType* built_in = FindBuiltInByName(recorded.kind, recorded.group);
  const bool same_word =
      recorded.kind == kind || (built_in != nullptr && FindBuiltInByName(kind, "") == built_in);
  auto served = discovery_.ByName(recorded, patience);
  if (!served) return Unexpected{std::move(served).error()};
  if (served->empty()) {
    if (!same_word) return nullptr;
    // The kind isn't served any more, and this entry makes Resolve say so.
    return &(named_[kind] = {recorded.group, "", recorded.kind, recorded.kind});
  }
  auto called = discovery_.IsCalled(served->front(), kind, patience);
  if (!called) return Unexpected{std::move(called).error()};
  if (!same_word && !*called) return nullptr;
  return &(named_[kind] = served->front());
}

std::optional<ResourceType> OwnerKindSearch::NamedKind(const KindName& kind,
                                                       const OwnerQuery& query, OwnerSight& sight,
                                                       const Patience& patience) {
  const auto fail = [&](const std::string& why) {
    sight.setting_problem = "the owner's kind, \"" + kind.ToText() + "\", " + why;
    SetUnknown(sight, sight.setting_problem);
    return std::nullopt;
  };
  const auto unknown = [&](const ApiError& error) {
    SetUnknown(sight, error);
    return std::nullopt;
  };
  // A name without a group means a kind that every server has, or else what it meant before: the
  // owner must not change because another kind of the same name has been installed.
  const ResourceType* known = FindBuiltInByName(kind.kind, kind.group);
  if (kind.group.empty() && (known == nullptr || !Discovery::IsAlwaysServed(known->group))) {
    auto before = RecallKind(kind.kind, query, patience);
    if (!before) return unknown(before.error());
    known = *before;
  }
  if (known != nullptr) {
    if (!CanJudge(*known)) return fail("runs no driver: " + MustBeJudgeable());
    auto resolved = discovery_.Resolve(*known, patience);
    if (!resolved) return unknown(resolved.error());
    if (*resolved) return *resolved;
    return fail("is not served by the API server (" + known->QualifiedName() +
                "): correct it, or install its definition");
  }
  if (const auto before = failed_.find(kind.ToText()); before != failed_.end()) {
    FailedSearch& search = before->second;
    if (search.looks > 0) {
      --search.looks;
      return fail(search.why);
    }
  }
  const auto refuse = [&](const std::string& why) {
    failed_[kind.ToText()] = {why, kLooksBetweenSearches};
    return fail(why);
  };
  auto named = discovery_.ByName(kind, patience);
  if (!named) return unknown(named.error());
  if (named->empty()) {
    const ResourceType* usual = FindBuiltInByName(kind.kind, kind.group);
    return refuse("is not served by the API server" +
                  (usual == nullptr ? "" : " (" + usual->QualifiedName() + ")") +
                  ": correct it, or install its definition");
  }
  if (named->size() > 1) {
    std::string several;
    for (const ResourceType& type : *named) {
      several += (several.empty() ? "" : " or ") + type.SingularName();
    }
    return refuse("is ambiguous: say " + several);
  }
  if (!CanJudge(named->front())) return refuse("runs no driver: " + MustBeJudgeable());
  if (kind.group.empty()) named_[kind.kind] = named->front();
  return named->front();
}

}  // namespace cluster_watcher
