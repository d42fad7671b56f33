#include "test/small_kubernetes/store.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cluster_watcher::small_kubernetes {
namespace {

constexpr std::size_t kHistory = 20'000;

// Kubernetes uses this alphabet for generated names: without vowels there are no words.
constexpr std::string_view kNameLetters = "bcdfghjklmnpqrstvwxz2456789";

std::string FormatUid(std::uint64_t high, std::uint64_t low) {
  std::array<char, 37> text;
  std::snprintf(text.data(), text.size(), "%08x-%04x-4%03x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                static_cast<unsigned>(high & 0xfff),
                static_cast<unsigned>(0x8000 | (low >> 48 & 0x3fff)),
                static_cast<unsigned long long>(low & 0xffffffffffff));
  return std::string(text.data(), 36);
}

ObjectPtr MakeObject(const Resource& resource, std::uint64_t version, Value body) {
  auto object = std::make_shared<Object>();
  Value& metadata = *Find(body, "metadata");
  Set(metadata, "resourceVersion", Text(std::to_string(version)));
  object->resource = &resource;
  object->version = version;
  object->ns = TextOf(Find(metadata, "namespace"));
  object->name = TextOf(Find(metadata, "name"));
  object->uid = TextOf(Find(metadata, "uid"));
  object->deleting = Find(metadata, "deletionTimestamp") != nullptr;
  if (const Value* owners = Find(metadata, "ownerReferences"); HasElements(owners)) {
    object->owned = true;
    for (const Value& owner : owners->GetArray()) {
      if (IsTrue(Find(owner, "controller"))) object->controller_uid = TextOf(Find(owner, "uid"));
    }
  }
  object->body = std::move(body);
  return object;
}

}  // namespace

std::string FormatTime(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto days = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(seconds - days);
  std::array<char, 40> text;
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return std::string(text.data(), static_cast<std::size_t>(length));
}

const std::string& Object::Json() const {
  if (json_.empty()) json_ = Write(body);
  return json_;
}

const std::string& Object::MetadataJson() const {
  if (metadata_json_.empty()) metadata_json_ = Write(Metadata());
  return metadata_json_;
}

Store::Objects& Store::Of(const Resource& resource) {
  while (objects_.size() <= resource.storage) {
    objects_.emplace_back();
    versions_.push_back(version_);
    uncontrolled_versions_.push_back(version_);
  }
  return objects_[resource.storage];
}

ObjectPtr Store::Get(const Resource& resource, std::string_view ns, std::string_view name,
                     std::uint64_t as_of) const {
  if (objects_.size() <= resource.storage) return nullptr;
  const Objects& objects = objects_[resource.storage];
  const auto found = objects.find(std::pair(ns, name));
  ObjectPtr result = found == objects.end() ? nullptr : found->second;
  for (auto change = history_.rbegin(); change != history_.rend() && change->version > as_of;
       ++change) {
    const Object& object = change->after ? *change->after : *change->before;
    if (object.resource->storage == resource.storage && object.ns == ns && object.name == name) {
      result = change->before;
    }
  }
  return result;
}

ObjectPtr Store::FindUid(std::string_view uid) const {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> Store::List(const Resource& resource, std::string_view ns,
                                   std::uint64_t as_of) const {
  std::vector<ObjectPtr> result;
  if (objects_.size() <= resource.storage) return result;
  if (as_of >= version_) {
    ForEach(resource, ns, [&](const ObjectPtr& object) { result.push_back(object); });
    return result;
  }
  Objects then = objects_[resource.storage];
  for (auto change = history_.rbegin(); change != history_.rend() && change->version > as_of;
       ++change) {
    const Object& object = change->after ? *change->after : *change->before;
    if (object.resource->storage == resource.storage) {
      then[Key(object.ns, object.name)] = change->before;
    }
  }
  for (const auto& [key, object] : then) {
    if (object != nullptr && (ns.empty() || key.first == ns)) result.push_back(object);
  }
  return result;
}

ObjectPtr Store::Create(const Resource& resource, Value body, bool commit) {
  Value& metadata = *Find(body, "metadata");
  if (Find(metadata, "uid") == nullptr) Set(metadata, "uid", Text(NewUid()));
  Set(metadata, "creationTimestamp", Text(Timestamp()));
  ObjectPtr object = MakeObject(resource, version_ + 1, std::move(body));
  if (commit) Record(resource, nullptr, object);
  return object;
}

ObjectPtr Store::Update(const ObjectPtr& old, Value body, bool commit) {
  Set(*Find(body, "metadata"), "resourceVersion", Text(std::to_string(old->version)));
  if (body == old->body) return old;
  ObjectPtr object = MakeObject(*old->resource, version_ + 1, std::move(body));
  if (commit) Record(*old->resource, old, object);
  return object;
}

void Store::Remove(const Object& object) {
  if (ObjectPtr present = Get(*object.resource, object.ns, object.name)) {
    Record(*object.resource, present, nullptr);
  }
}

void Store::Record(const Resource& resource, ObjectPtr before, ObjectPtr after) {
  ++version_;
  Objects& objects = Of(resource);
  versions_[resource.storage] = version_;
  for (const Object* object : {before.get(), after.get()}) {
    if (object == nullptr) continue;
    if (object->controller_uid.empty()) {
      uncontrolled_versions_[resource.storage] = version_;
    } else {
      controlled_versions_[object->controller_uid] = version_;
    }
  }
  if (before != nullptr) by_uid_.erase(before->uid);
  if (after != nullptr) {
    by_uid_.emplace(after->uid, after);
    objects[Key(after->ns, after->name)] = after;
  } else {
    objects.erase(
        objects.find(std::pair<std::string_view, std::string_view>(before->ns, before->name)));
  }
  const bool ownership =
      after == nullptr || after->deleting ||
      (after->owned && (before == nullptr || !Same(Find(before->Metadata(), "ownerReferences"),
                                                   Find(after->Metadata(), "ownerReferences"))));
  if (ownership) ownership_version_ = version_;
  history_.push_back({version_, clock_.Now(), std::move(before), std::move(after)});
  if (history_.size() > kHistory) {
    oldest_version_ = history_.front().version;
    history_.pop_front();
  }
}

std::uint64_t Store::VersionOf(const Resource& resource) const {
  return versions_.size() <= resource.storage ? 0 : versions_[resource.storage];
}

std::uint64_t Store::VersionBelow(const std::string& uid, const Resource& resource) const {
  const auto found = controlled_versions_.find(uid);
  const std::uint64_t controlled = found == controlled_versions_.end() ? 0 : found->second;
  const bool any = resource.storage < uncontrolled_versions_.size();
  return std::max(controlled, any ? uncontrolled_versions_[resource.storage] : 0);
}

std::uint64_t Store::VersionBefore(Duration age) const {
  const MonotonicTime then = clock_.Now() - age;
  std::uint64_t version = version_;
  for (auto change = history_.rbegin(); change != history_.rend() && change->time > then;
       ++change) {
    version = change->version - 1;
  }
  return version;
}

std::string Store::Timestamp(Duration from_now) const {
  return FormatTime(clock_.WallNow() + from_now);
}

std::string Store::NewUid() {
  const std::uint64_t high = Random();
  return FormatUid(high, Random());
}

std::string Store::RandomName(std::size_t length) {
  std::string name;
  while (name.size() < length) name += kNameLetters[Random() % kNameLetters.size()];
  return name;
}

// SplitMix64.
std::uint64_t Store::Random() {
  std::uint64_t z = random_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace cluster_watcher::small_kubernetes
