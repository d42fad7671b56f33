#include "probes/kube/cached_lists.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <utility>

#include "probes/base/json.h"
#include "probes/kube/api_request.h"
#include "probes/kube/pod_state.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {
namespace {

constexpr std::string_view kMetadataForm = "as=PartialObjectMetadata";
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::size_t kBytesOfEntry = 64;  // of an index, about

std::string Decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 2 >= text.size()) {
      decoded += text[i];
      continue;
    }
    decoded +=
        static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
    i += 2;
  }
  return decoded;
}

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

HttpResponse JsonAnswer(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = std::move(body);
  return response;
}

// Whether the same request would be answered so again.
bool IsFinal(const HttpResponse& response) {
  return response.status == 200 || response.status == 403 || response.status == 404;
}

std::string Quote(std::string_view text) {
  JsonWriter writer;
  return writer.String(text).Text();
}

}  // namespace

// The list that a request reads.
struct CachedLists::Target {
  std::string collection;  // "/apis/apps/v1/deployments": without the namespace
  std::string group;
  std::string plural;
  std::string ns;                   // empty: all namespaces
  std::optional<std::string> name;  // of one object, by its path or a field selector
  std::optional<std::pair<std::string, std::optional<std::string>>>
      label;               // a key, and the value that it must have
  bool is_object = false;  // the answer is an object, not a list
  bool unended = false;    // only pods that have neither succeeded nor failed
  bool metadata_only = false;

  // nullopt: it reads something else, or selects in another way.
  static std::optional<Target> Of(const HttpRequest& request);

 private:
  bool TakeQuery(std::string_view query);
};

std::optional<CachedLists::Target> CachedLists::Target::Of(const HttpRequest& request) {
  if (request.method != HttpMethod::kGet) return std::nullopt;
  const std::string_view whole = request.target;
  const std::size_t end = std::min(whole.find('?'), whole.size());
  const auto parts = Split(whole.substr(0, end), '/');  // "", "api", "v1", "namespaces", NS, PLURAL
  const bool is_core = parts.size() > 1 && parts[1] == "api";
  const std::size_t at = is_core ? 3 : 4;  // of "namespaces"
  const bool is_of_all = parts.size() == at + 1;
  const bool is_of_one =
      (parts.size() == at + 3 || parts.size() == at + 4) && parts[at] == "namespaces";
  if (parts.size() <= at || !(is_of_all || is_of_one)) return std::nullopt;
  Target target;
  for (std::size_t i = 1; i < at; ++i) target.collection += "/" + std::string(parts[i]);
  target.group = is_core ? "" : std::string(parts[2]);
  target.ns = is_of_all ? "" : Decoded(parts[at + 1]);
  target.plural = std::string(is_of_all ? parts[at] : parts[at + 2]);
  target.collection += "/" + target.plural;
  target.metadata_only = request.accept.find(kMetadataForm) != std::string::npos;
  if (parts.size() == at + 4) {
    target.name = Decoded(parts[at + 3]);
    target.is_object = true;
  }
  if (end < whole.size() && !target.TakeQuery(whole.substr(end + 1))) return std::nullopt;
  return target;
}

bool CachedLists::Target::TakeQuery(std::string_view query) {
  for (const std::string_view parameter : Split(query, '&')) {
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view key = parameter.substr(0, equals);
    const std::string value = Decoded(parameter.substr(std::min(equals + 1, parameter.size())));
    constexpr std::string_view kByName = "metadata.name=";
    if (key == "limit" || (key == "resourceVersion" && value == "0")) continue;
    if (key == "fieldSelector" && value.starts_with(kByName) &&
        value.find(',') == std::string::npos) {
      name = value.substr(kByName.size());
    } else if (key == "fieldSelector" && value == kUnendedPods) {
      unended = true;
    } else if (key == "labelSelector" && value.find_first_of(",!()<> ") == std::string::npos &&
               value.find("==") == std::string::npos) {
      const std::size_t end = std::min(value.find('='), value.size());
      label.emplace(value.substr(0, end), std::nullopt);
      if (end < value.size()) label->second = value.substr(end + 1);
    } else {
      return false;
    }
  }
  return true;
}

// Returns what of a pod's spec or status tells whether it and its containers run, and how long they
// may (pod_state.h, owner_kinds.h).
static std::string WhetherItRuns(JsonValue half) {
  JsonWriter kept;
  const auto keep = [&kept](JsonValue object, const std::vector<std::string_view>& keys) {
    kept.StartObject();
    for (const std::string_view key : keys) {
      if (object[key].Exists()) kept.Key(key).Value(object[key]);
    }
  };
  keep(half, {"terminationGracePeriodSeconds", "restartPolicy", "phase"});
  for (const std::string_view list : {"containers", "containerStatuses"}) {
    if (!half[list].Exists()) continue;
    kept.Key(list).StartArray();
    for (const JsonValue one : half[list].Elements()) {
      keep(one, {"name", "restartPolicy", "restartPolicyRules", "state"});
      kept.EndObject();
    }
    kept.EndArray();
  }
  return kept.EndObject().Text();
}

class CachedLists::Collection {
 public:
  // Keeps only metadata and WhetherItRuns of objects without the label `needed_whole`; empty: all
  // are kept whole.
  explicit Collection(std::string needed_whole) : needed_whole_(std::move(needed_whole)) {}

  // Takes the objects of a page. An error: it is none.
  Result<Done> Take(const JsonDocument& page);
  const std::string& next() const { return next_; }
  // About how many bytes it keeps.
  std::size_t bytes() const { return bytes_; }

  HttpResponse AnswerTo(const Target& target) const;

  std::optional<WallTime> date;

 private:
  struct Item {
    std::string metadata;  // JSON
    std::string rest;      // the other fields: `,"spec":{…}`
    bool has_ended;        // a pod that has succeeded or failed
  };
  using Key = std::string;  // the namespace, a zero byte and what it is found by

  static Key MakeKey(std::string_view ns, std::string_view by) {
    return std::string(ns) + '\0' + std::string(by);
  }
  void TakeItem(JsonValue item);
  std::string ObjectText(const Item& item, bool metadata_only) const;
  HttpResponse NotFound(const Target& target) const;
  std::vector<const Item*> Select(const Target& target) const;

  const std::string needed_whole_;
  std::string kind_;         // "Deployment"
  std::string api_version_;  // "apps/v1"
  std::string version_;      // the list's resourceVersion
  std::string next_;
  std::size_t bytes_ = 0;
  std::deque<Item> items_;
  std::unordered_map<Key, const Item*> by_name_;
  std::unordered_map<Key, std::vector<const Item*>> by_label_;  // "key=value"
  std::unordered_map<std::string, std::vector<const Item*>> by_namespace_;
};

Result<Done> CachedLists::Collection::Take(const JsonDocument& page) {
  const JsonValue list = page.root();
  const std::string_view kind = list["kind"].AsString().value_or("");
  if (!kind.ends_with("List") || !list["items"].IsArray()) return Failure("it is no list");
  kind_ = std::string(kind.substr(0, kind.size() - 4));
  api_version_ = std::string(list["apiVersion"].AsString().value_or(""));
  version_ = std::string(list["metadata"]["resourceVersion"].AsString().value_or(""));
  next_ = std::string(list["metadata"]["continue"].AsString().value_or(""));
  for (const JsonValue item : list["items"].Elements()) TakeItem(item);
  return Done{};
}

// The managedFields and kubectl's last applied configuration are two thirds of an object and say
// nothing about a cluster.
void CachedLists::Collection::TakeItem(JsonValue item) {
  Item taken;
  const bool is_whole =
      needed_whole_.empty() || item["metadata"]["labels"][needed_whole_].AsString().has_value();
  JsonWriter metadata;
  metadata.StartObject();
  item["metadata"].ForEachMember([&](std::string_view key, JsonValue value) {
    if (key == "managedFields" || (!is_whole && key == "annotations")) return;
    if (key == "annotations" && value[kLastApplied].Exists()) {
      metadata.Key(key).StartObject();
      value.ForEachMember([&](std::string_view name, JsonValue text) {
        if (name != kLastApplied) metadata.Key(name).Value(text);
      });
      metadata.EndObject();
      return;
    }
    metadata.Key(key).Value(value);
  });
  taken.metadata = metadata.EndObject().Text();
  item.ForEachMember([&](std::string_view key, JsonValue value) {
    if (key == "metadata" || key == "kind" || key == "apiVersion") return;
    if (is_whole) {
      taken.rest += "," + Quote(key) + ":" + value.ToText();
    } else if (key == "spec" || key == "status") {
      taken.rest += "," + Quote(key) + ":" + WhetherItRuns(value);
    }
  });
  taken.has_ended = HasEnded(item);
  taken.metadata.shrink_to_fit();
  taken.rest.shrink_to_fit();
  bytes_ += taken.metadata.size() + taken.rest.size() + 4 * kBytesOfEntry;
  const Item* kept = &items_.emplace_back(std::move(taken));
  const JsonValue meta = item["metadata"];
  const std::string ns(meta["namespace"].AsString().value_or(""));
  by_name_[MakeKey(ns, meta["name"].AsString().value_or(""))] = kept;
  by_namespace_[ns].push_back(kept);
  by_namespace_[""].push_back(kept);
  meta["labels"].ForEachMember([&](std::string_view key, JsonValue value) {
    const std::string label = std::string(key) + "=" + std::string(value.AsString().value_or(""));
    bytes_ += 3 * (label.size() + ns.size() + kBytesOfEntry);
    by_label_[MakeKey(ns, label)].push_back(kept);
    by_label_[MakeKey(ns, key)].push_back(kept);
    by_label_[MakeKey("", key)].push_back(kept);
  });
}

std::string CachedLists::Collection::ObjectText(const Item& item, bool metadata_only) const {
  if (metadata_only) {
    return R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)" +
           item.metadata + "}";
  }
  return R"({"kind":)" + Quote(kind_) + R"(,"apiVersion":)" + Quote(api_version_) +
         R"(,"metadata":)" + item.metadata + item.rest + "}";
}

HttpResponse CachedLists::Collection::NotFound(const Target& target) const {
  JsonWriter status;
  status.StartObject().Field("kind", "Status").Field("apiVersion", "v1");
  status.Field("status", "Failure").Field("reason", "NotFound");
  status.Field("message", target.plural + " \"" + *target.name + "\" not found");
  status.Key("details").StartObject().Field("name", *target.name);
  if (!target.group.empty()) status.Field("group", target.group);
  status.Field("kind", target.plural).EndObject().Key("code").Integer(404);
  return JsonAnswer(404, status.EndObject().Text());
}

std::vector<const CachedLists::Collection::Item*> CachedLists::Collection::Select(
    const Target& target) const {
  const auto found = [](const auto& index, const auto& key) {
    const auto at = index.find(key);
    return at == index.end() ? std::vector<const Item*>() : at->second;
  };
  if (target.name) {
    const auto at = by_name_.find(MakeKey(target.ns, *target.name));
    return at == by_name_.end() ? std::vector<const Item*>() : std::vector{at->second};
  }
  if (!target.label) return found(by_namespace_, target.ns);
  const auto& [key, value] = *target.label;
  return found(by_label_, MakeKey(target.ns, value ? key + "=" + *value : key));
}

HttpResponse CachedLists::Collection::AnswerTo(const Target& target) const {
  std::vector<const Item*> items = Select(target);
  if (target.unended) std::erase_if(items, [](const Item* item) { return item->has_ended; });
  if (target.is_object) {
    if (items.empty()) return NotFound(target);
    return JsonAnswer(200, ObjectText(*items.front(), target.metadata_only));
  }
  std::string text =
      target.metadata_only
          ? R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1")"
          : R"({"kind":)" + Quote(kind_ + "List") + R"(,"apiVersion":)" + Quote(api_version_);
  text += R"(,"metadata":{"resourceVersion":)" + Quote(version_) + R"(},"items":[)";
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += (i == 0 ? "" : ",") + ObjectText(*items[i], target.metadata_only);
  }
  return JsonAnswer(200, text + "]}");
}

CachedLists::CachedLists(Transport& server, std::string ns, std::string cluster_label,
                         Limits limits)
    : server_(server),
      ns_(std::move(ns)),
      cluster_label_(std::move(cluster_label)),
      limits_(limits) {}
CachedLists::~CachedLists() = default;

std::vector<HttpResult> CachedLists::Perform(std::span<const HttpRequest> requests, std::size_t,
                                             std::stop_token stop) {
  std::vector<HttpResult> results;
  for (const HttpRequest& request : requests) results.push_back(Answer(request, stop));
  return results;
}

HttpResult CachedLists::Answer(const HttpRequest& request, const std::stop_token& stop) {
  const auto target = Target::Of(request);
  // Namespaces themselves are at the same place as what is of all namespaces.
  const bool is_listed =
      target && (ns_.empty() ? target->plural != "namespaces" : target->ns == ns_);
  if (!is_listed) return SendOnce(request, stop);
  auto collection = Find(*target, request, stop);
  if (!collection) return std::move(collection).error();
  if (*collection == nullptr) return Send(request, stop);
  HttpResponse answer = (*collection)->AnswerTo(*target);
  answer.date = (*collection)->date;
  return answer;
}

HttpResult CachedLists::Send(const HttpRequest& request, const std::stop_token& stop) {
  return std::move(server_.Perform({&request, 1}, 1, stop).front());
}

HttpResult CachedLists::SendOnce(const HttpRequest& request, const std::stop_token& stop) {
  const bool is_read = request.method == HttpMethod::kGet;
  const std::string key = request.target + " " + request.accept;
  if (is_read) {
    if (const auto before = answers_.find(key); before != answers_.end()) return before->second;
  }
  HttpResult result = Send(request, stop);
  if (is_read && result && IsFinal(*result)) answers_.emplace(key, *result);
  return result;
}

Result<const CachedLists::Collection*, HttpResult> CachedLists::Find(const Target& target,
                                                                     const HttpRequest& request,
                                                                     const std::stop_token& stop) {
  std::string path = target.collection;
  if (!ns_.empty()) {
    path.insert(path.rfind('/'), "/namespaces/" + PercentEncode(ns_));
  }
  if (const auto known = collections_.find(path); known != collections_.end()) {
    return known->second.get();
  }
  const bool is_pods = target.group.empty() && target.plural == "pods";
  auto collection = std::make_unique<Collection>(is_pods ? cluster_label_ : "");
  HttpRequest list = request;
  list.accept = "application/json";
  list.body_limit = limits_.page;
  int limit = kPageSize;
  while (true) {
    const std::string& next = collection->next();
    list.target = path + "?limit=" + std::to_string(limit) +
                  (next.empty() ? "" : "&continue=" + PercentEncode(next));
    HttpResult page = SendOnce(list, stop);
    const bool is_large = !page && page.error().kind == TransportError::Kind::kTooLarge;
    if (is_large && limit > 1) {
      limit /= 2;
      continue;
    }
    if (!page || page->status != 200) return Unexpected{std::move(page)};
    answers_.erase(list.target + " " + list.accept);
    const auto document = JsonDocument::Parse(page->body);
    if (!document || !collection->Take(*document)) return Unexpected{std::move(page)};
    collection->date = page->date;
    if (kept_ + collection->bytes() > limits_.kept) {
      collections_.emplace(path, nullptr);
      return nullptr;
    }
    if (collection->next().empty()) break;
  }
  kept_ += collection->bytes();
  return collections_.emplace(path, std::move(collection)).first->second.get();
}

}  // namespace cluster_watcher
