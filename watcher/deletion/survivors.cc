#include "watcher/deletion/survivors.h"

#include <algorithm>
#include <utility>

#include "probes/owner_kinds.h"
#include "watcher/deletion/objects_by_uid.h"
#include "watcher/protocol/member_annotations.h"
#include "watcher/protocol/owner_reference.h"

namespace cluster_watcher {
namespace {

// Whether it is an ephemeral volume's, which goes with its pod. Source: kubernetes.io "Ephemeral
// Volumes".
bool IsOfPod(const ObjectMeta& claim) {
  const auto& owners = claim.owner_references();
  return std::any_of(owners.begin(), owners.end(),
                     [](const OwnerReference& owner) { return owner.kind == "Pod"; });
}

ApiRequest RetainRequest(const KubeObject& set) {
  JsonWriter patch;
  patch.StartObject().Key("metadata").StartObject();
  patch.Field("resourceVersion", set.meta.resource_version).EndObject();
  patch.Key("spec").StartObject().Key("persistentVolumeClaimRetentionPolicy").StartObject();
  patch.Field("whenDeleted", "Retain").EndObject().EndObject().EndObject();
  return ApiRequest::MergePatch(set.type, set.meta.ns(), set.meta.name, patch.Text());
}

}  // namespace

struct Survivors::Search {
  const MemberListing::Listed& listed;
  const KubeObject* root;
  DeletionMemory& memory;
  const ObjectsByUid objects;
  Found found = {};
  std::map<std::string, Result<const ObjectMeta*, ApiError>> read = {};  // by UID, see Above
  std::map<std::string, bool> going = {};                                // of what isn't listed
  const bool late;
  bool must_know = true;  // what can't be read for the moment, see Require

  // Past the deadline what is above somebody else's objects holds nothing up. What was found
  // without is asked again.
  void Require(bool is_of_cluster) {
    if (must_know != (is_of_cluster || !late)) going.clear();
    must_know = is_of_cluster || !late;
  }
  // Whether something that is there controls it.
  bool IsControlled(const ObjectMeta& object) const {
    const OwnerReference* controller = object.Controller();
    return controller != nullptr && !IsGone(*controller, memory);
  }
};

Survivors::Found Survivors::Find(const MemberListing::Listed& listed, const KubeObject* root,
                                 DeletionMemory& memory, bool late) {
  Search search{.listed = listed,
                .root = root,
                .memory = memory,
                .objects = ObjectsByUid(listed.objects),
                .late = late};
  ReadAboveListed(search);
  HoldBackAboveKept(search);
  HoldBackAboveOwner(search);
  if (!listed.complete) HoldBackAsBefore(search);
  FindSets(search);
  for (const bool of_cluster : {true, false}) {
    search.Require(of_cluster);
    for (const KubeObject& claim : listed.claims) {
      const bool is_of_it = cluster_.Owns(claim.meta) || memory.set_claims.contains(claim.meta.uid);
      if (is_of_it == of_cluster && MustStay(search, claim)) SettleClaim(search, claim);
    }
  }
  memory.held_back = search.found.held_back;
  return std::move(search.found);
}

// What controls a member need not be of a kind that is listed, such as a DaskWorkerGroup.
void Survivors::ReadAboveListed(Search& search) {
  std::set<std::string> done;
  const auto is_known = [&](const OwnerReference& owner) {
    return search.objects.Find(owner.uid) != nullptr ||
           search.memory.MemberOf(owner.uid) != nullptr || search.memory.gone.contains(owner.uid) ||
           (search.root != nullptr && owner.uid == search.root->meta.uid) ||
           !done.insert(owner.uid).second;
  };
  const Patience patience = RepeatedReads(tools_);
  std::vector<const OwnerReference*> unknown;
  std::vector<ApiRequest> reads;
  for (const KubeObject& object : search.listed.objects) {
    const OwnerReference* owner = cluster_.Above(object.meta);
    if (owner == nullptr || is_known(*owner)) continue;
    unknown.push_back(owner);
    const auto type = tools_.discovery.ByKind(owner->api_version, owner->kind, patience);
    if (type && *type) reads.push_back(ApiRequest::GetMetadata(**type, cluster_.ns, owner->name));
  }
  tools_.client.ReadAhead(reads, static_cast<std::size_t>(tools_.settings->concurrency), patience);
  for (const OwnerReference* owner : unknown) {
    for (int i = 0; owner != nullptr && i < kLongestOwnerChain; ++i) {
      const auto above = ReadAbove(search.memory, *owner, patience);
      search.found.above_unread = search.found.above_unread || !above;
      // What is above an object that isn't the cluster's says nothing.
      const bool is_of_cluster =
          above && *above != nullptr && (cluster_.Owns(**above) || cluster_.IsResource(*owner));
      owner = is_of_cluster ? cluster_.Above(**above) : nullptr;
      if (owner != nullptr && is_known(*owner)) break;
    }
  }
}

void Survivors::HoldBackAboveOwner(Search& search) {
  const auto& owner = search.memory.owner;
  if (!owner) return;
  search.Require(false);
  HoldBackAbove(search, owner->meta, {owner->Describe() + ", the owner, would go with it", false},
                kLongestOwnerChain);
}

void Survivors::HoldBackAboveKept(Search& search) {
  DeletionMemory& memory = search.memory;
  const MemberListing::Listed& listed = search.listed;
  search.Require(true);
  if (listed.complete) memory.kept.clear();
  for (const KubeObjects* objects : {&listed.objects, &listed.kept}) {
    for (const KubeObject& object : *objects) {
      memory.kept.erase(object.meta.uid);
      const bool is_root = search.root != nullptr && object.meta.uid == search.root->meta.uid;
      if (!is_root && IsKept(object)) memory.kept.emplace(object.meta.uid, object);
    }
  }
  for (const auto& [uid, object] : memory.kept) {
    HoldBackAbove(search, object.meta,
                  {object.Describe() + ", which is to be kept, would go with it", false},
                  kLongestOwnerChain);
  }
}

void Survivors::HoldBackAsBefore(Search& search) {
  for (const auto& [uid, because] : search.memory.held_back) {
    if (!because.may_pass || search.listed.claims_problem) {
      search.found.held_back.emplace(uid, because);
    }
  }
}

// Those that go: labelled as of the cluster, the root, or controlled by what goes; unless they, or
// what they control, must stay.
void Survivors::FindSets(Search& search) {
  for (const ClaimingSet& set : search.listed.sets) {
    const ObjectMeta& meta = set.object.meta;
    const bool is_listed = search.objects.Find(meta.uid) != nullptr;
    search.Require(is_listed);
    const bool is_root = search.root != nullptr && meta.uid == search.root->meta.uid;
    const bool is_member =
        is_listed && !search.IsControlled(meta) && !IsOwner(set.object, search.memory);
    const bool is_of_it = is_root || is_member || LeadsTo(search, meta, kLongestOwnerChain);
    const bool stays = IsKept(set.object) || search.found.held_back.contains(meta.uid);
    search.Require(is_listed || is_of_it);
    SettleSet(search, set, is_of_it && !stays);
  }
  if (!search.listed.claims_problem) return;
  // The claims that there are can't be told.
  const auto hold_back = [&](const KubeObject& object) {
    if (object.type->kind != "StatefulSet") return;
    const HeldBack because{"its claims can't be listed: " + search.listed.claims_problem->message};
    search.found.held_back.emplace(object.meta.uid, because);
    HoldBackAbove(search, object.meta, because, kLongestOwnerChain);
  };
  for (const KubeObject& object : search.listed.objects) hold_back(object);
  if (search.root != nullptr) hold_back(*search.root);
}

void Survivors::SettleSet(Search& search, const ClaimingSet& set, bool goes) {
  const std::string& uid = set.object.meta.uid;
  bool any_stays = search.memory.volumes != Volumes::kDelete;
  for (const KubeObject& claim : search.listed.claims) {
    const OwnerReference* controller = claim.meta.Controller();
    const bool is_others = controller != nullptr && controller->uid != uid;
    if (is_others || cluster_.AnothersLabel(claim.meta) || !set.HasMade(claim.meta)) continue;
    if (goes) {
      any_stays = any_stays || IsKept(claim);
      search.memory.set_claims.try_emplace(claim.meta.uid, uid);
      search.memory.kept_claims.erase(claim.meta.uid);
    } else {
      search.memory.set_claims.erase(claim.meta.uid);
      search.memory.kept_claims.insert(claim.meta.uid);
    }
  }
  if (!goes || !any_stays || !set.deletes_claims) return;
  const HeldBack because{"its claims would go with it, by whenDeleted: Delete"};
  search.found.held_back.emplace(uid, because);
  HoldBackAbove(search, set.object.meta, because, kLongestOwnerChain);
  search.found.writes.push_back(RetainRequest(set.object));
}

bool Survivors::MustStay(const Search& search, const KubeObject& claim) const {
  if (claim.meta.deleting) return false;
  return IsKept(claim) || search.memory.kept_claims.contains(claim.meta.uid) ||
         (search.memory.volumes != Volumes::kDelete && !IsOfPod(claim.meta));
}

// Takes off what leads to something that goes. What a Pod owns stays with that.
void Survivors::SettleClaim(Search& search, const KubeObject& claim) {
  std::set<std::string> going;
  for (const OwnerReference& owner : claim.meta.owner_references()) {
    if (IsGoing(search, owner, kLongestOwnerChain)) going.insert(owner.uid);
  }
  if (going.empty()) return;
  const bool is_kept = IsOfPod(claim.meta);
  HoldBackAbove(search, claim.meta,
                {claim.Describe() + ", which stays, would go with it by its ownerReferences: take "
                                    "them off",
                 !is_kept},
                kLongestOwnerChain);
  if (is_kept) return;
  search.found.writes.push_back(ApiRequest::MergePatch(claim.type, claim.meta.ns(), claim.meta.name,
                                                       WithoutOwnersPatch(claim.meta, going)));
}

bool Survivors::IsAnothers(const ObjectMeta& object, const KubeObject& root,
                           DeletionMemory& memory) {
  const MemberListing::Listed none;
  Search search{.listed = none,
                .root = &root,
                .memory = memory,
                .objects = ObjectsByUid(none.objects),
                .late = false};
  const ObjectMeta* at = &object;
  for (int i = 0; i < kLongestOwnerChain && at != nullptr; ++i) {
    if (at->uid == root.meta.uid || memory.MemberOf(at->uid) != nullptr) return false;
    const OwnerReference* above = cluster_.Above(*at);
    if (above == nullptr) return true;
    at = Above(search, *above);
  }
  return false;
}

bool Survivors::LeadsTo(Search& search, const ObjectMeta& object, int depth) {
  const auto& owners = object.owner_references();
  return std::any_of(owners.begin(), owners.end(),
                     [&](const OwnerReference& owner) { return IsGoing(search, owner, depth); });
}

bool Survivors::IsGoing(Search& search, const OwnerReference& owner, int depth) {
  if (search.root != nullptr && owner.uid == search.root->meta.uid) return true;
  if (const KubeObject* listed = search.objects.Find(owner.uid)) {
    // An object that is left alone doesn't go, unless something above it does.
    const auto held = search.found.held_back.find(owner.uid);
    const bool is_held = held != search.found.held_back.end() && !held->second.may_pass;
    const bool stays = is_held || IsKept(*listed) || search.IsControlled(listed->meta) ||
                       IsOwner(*listed, search.memory);
    return !stays || (depth > 0 && LeadsTo(search, listed->meta, depth - 1));
  }
  if (search.memory.MemberOf(owner.uid) != nullptr) return true;
  if (const auto known = search.going.find(owner.uid); known != search.going.end()) {
    return known->second;
  }
  const ObjectMeta* above = depth > 0 ? Above(search, owner) : nullptr;
  const bool goes = above != nullptr && LeadsTo(search, *above, depth - 1);
  search.going[owner.uid] = goes;
  return goes;
}

void Survivors::HoldBackAbove(Search& search, const ObjectMeta& object, const HeldBack& because,
                              int depth) {
  for (const OwnerReference& owner : object.owner_references()) {
    const auto [held, is_new] = search.found.held_back.emplace(owner.uid, because);
    if (!is_new) held->second.may_pass = held->second.may_pass && because.may_pass;
    if (!is_new || depth == 0) continue;
    if (search.root != nullptr && owner.uid == search.root->meta.uid) continue;
    const KubeObject* listed = search.objects.Find(owner.uid);
    if (listed != nullptr) search.memory.above.insert_or_assign(owner.uid, listed->meta);
    const ObjectMeta* above = listed != nullptr ? &listed->meta : Above(search, owner);
    if (above != nullptr) HoldBackAbove(search, *above, because, depth - 1);
  }
}

const ObjectMeta* Survivors::Above(Search& search, const OwnerReference& owner) {
  auto read = search.read.find(owner.uid);
  if (read == search.read.end()) {
    auto above = ReadAbove(search.memory, owner, RepeatedReads(tools_));
    read = search.read.emplace(owner.uid, std::move(above)).first;
  }
  if (read->second) return *read->second;
  if (search.must_know) search.found.unknown = read->second.error();
  return nullptr;
}

// An owner that can't be read now is as it was.
Result<const ObjectMeta*, ApiError> Survivors::ReadAbove(DeletionMemory& memory,
                                                         const OwnerReference& owner,
                                                         const Patience& patience) {
  const auto known = memory.above.find(owner.uid);
  const auto fails = [&](const ApiError& error) -> Result<const ObjectMeta*, ApiError> {
    if (known != memory.above.end()) return &known->second;
    // One that the account may not read at all holds nothing up.
    if (error.failure == ApiFailure::kForbidden) return nullptr;
    return Unexpected{error};
  };
  const auto type = tools_.discovery.ByKind(owner.api_version, owner.kind, patience);
  if (!type) return fails(type.error());
  if (!*type) return known != memory.above.end() ? &known->second : nullptr;
  const ApiRequest get = ApiRequest::GetMetadata(**type, cluster_.ns, owner.name);
  auto read = tools_.client.Do(get, patience);
  // One refusal proves little: an authorizer may lag behind.
  if (!read && read.error().failure == ApiFailure::kForbidden) {
    read = tools_.client.Do(get, patience);
  }
  if (!read && read.error().failure != ApiFailure::kNotFound) return fails(read.error());
  auto meta = read ? ReadObjectMeta(read->document.root()) : ObjectMeta();
  if (meta && meta->uid != owner.uid) memory.gone.insert(owner.uid);
  if (!meta || meta->uid != owner.uid) return nullptr;
  return &memory.above.insert_or_assign(owner.uid, *std::move(meta)).first->second;
}

}  // namespace cluster_watcher
