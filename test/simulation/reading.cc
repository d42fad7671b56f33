#include "test/simulation/reading.h"

#include <cstdint>

#include "test/simulation/world.h"

namespace cluster_watcher::simulation {

const Json* At(const Json* value, std::string_view key) {
  if (value == nullptr || !value->IsObject()) return nullptr;
  for (const auto& member : value->GetObject()) {
    if (std::string_view(member.name.GetString(), member.name.GetStringLength()) == key) {
      return &member.value;
    }
  }
  return nullptr;
}

std::string_view TextAt(const Json* value) {
  if (value == nullptr || !value->IsString()) return {};
  return {value->GetString(), value->GetStringLength()};
}

namespace {

constexpr std::uint64_t kNothing = 14695981039346656037u;

// FNV-1a
void AddText(std::uint64_t& hash, std::string_view text) {
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
}

void Add(std::uint64_t& hash, const Json* value) {
  if (value == nullptr) return AddText(hash, "?");
  if (value->IsString()) return AddText(hash, TextAt(value));
  if (value->IsInt64()) return AddText(hash, std::to_string(value->GetInt64()));
  if (value->IsBool()) return AddText(hash, value->IsTrue() ? "+" : "-");
  if (value->IsArray()) {
    for (const Json& item : value->GetArray()) Add(hash, &item);
  }
  if (!value->IsObject()) return AddText(hash, ".");
  for (const auto& [key, member] : value->GetObject()) {
    Add(hash, &key);
    Add(hash, &member);
  }
}

std::uint64_t ContentOf(const Json* metadata) {
  std::uint64_t hash = kNothing;
  for (const char* field : {"labels", "ownerReferences", "generation"}) {
    Add(hash, At(metadata, field));
  }
  const Json* annotations = At(metadata, "annotations");
  if (annotations == nullptr || !annotations->IsObject()) return hash;
  for (const auto& [key, value] : annotations->GetObject()) {
    if (!TextAt(&key).starts_with("cluster-watcher/")) continue;
    Add(hash, &key);
    Add(hash, &value);
  }
  return hash;
}

}  // namespace

bool IsRootPath(std::string_view target) {
  return target == World::kRootPath ||
         target.starts_with("/apis/apps/v1/namespaces/lab/replicasets/spark-m-");
}

namespace {

// The UID in the mark `recorded-owner`, which no other of its fields contains in this world.
std::string_view UidIn(std::string_view mark) {
  constexpr std::string_view kKey = R"("uid":")";
  const std::size_t found = mark.find(kKey);
  if (found == mark.npos) return {};
  mark.remove_prefix(found + kKey.size());
  return mark.substr(0, mark.find('"'));
}

}  // namespace

SeenRoot SeenRoot::Read(const Json* object) {
  SeenRoot seen;
  const Json* metadata = At(object, "metadata");
  const Json* annotations = At(metadata, "annotations");
  seen.uid = TextAt(At(metadata, "uid"));
  seen.resource_version = TextAt(At(metadata, "resourceVersion"));
  seen.deleting = At(metadata, "deletionTimestamp") != nullptr;
  seen.content = ContentOf(metadata);
  const Json* owners = At(metadata, "ownerReferences");
  if (owners != nullptr && owners->IsArray()) {
    for (const Json& owner : owners->GetArray()) {
      const Json* controller = At(&owner, "controller");
      seen.controlled |= controller != nullptr && controller->IsTrue();
    }
  }
  seen.ephemeral = TextAt(At(metadata, "labels", "ephemeral"));
  seen.owner = TextAt(At(annotations, "cluster-watcher/owner"));
  seen.kept = TextAt(At(annotations, "cluster-watcher/keep")) == "true";
  seen.hold_until = TextAt(At(annotations, "cluster-watcher/hold-until"));
  if (TextAt(At(annotations, "cluster-watcher/root-uid")) == seen.uid) {
    seen.phase = TextAt(At(annotations, "cluster-watcher/phase"));
    // Any other text means nothing, and hurts nobody.
    if (seen.phase != "condemned" && seen.phase != "deleting") seen.phase.clear();
    seen.condemned_by = TextAt(At(annotations, "cluster-watcher/condemned-by"));
    seen.deleting_since = TextAt(At(annotations, "cluster-watcher/deleting-since"));
    seen.owner_uid = UidIn(TextAt(At(annotations, "cluster-watcher/recorded-owner")));
  }
  return seen;
}

bool SeenRoot::NamesOther() const {
  return ephemeral == World::kOtherName || owner.ends_with(std::string("/") + World::kOtherName);
}

std::optional<SeenRoot> RootIn(const Exchange& exchange) {
  if (!IsRootPath(exchange.request.target) || !exchange.answered || !exchange.true_answer) {
    return std::nullopt;
  }
  if (exchange.Is(HttpMethod::kGet) && exchange.status == 404) {
    SeenRoot gone;
    gone.path = exchange.request.target;
    gone.gone = true;
    return gone;
  }
  const bool shows = exchange.Is(HttpMethod::kGet) || exchange.Is(HttpMethod::kPatch);
  if (!shows || exchange.status != 200) return std::nullopt;
  const Body body(exchange.answer);
  SeenRoot seen = SeenRoot::Read(body.root());
  seen.path = exchange.request.target;
  return seen;
}

}  // namespace cluster_watcher::simulation
