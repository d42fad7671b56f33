#include "probes/kube/kubeconfig.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "probes/base/file.h"
#include "probes/base/json.h"
#include "probes/base/names.h"
#include "probes/base/read_yaml.h"

namespace cluster_watcher {
namespace {

enum class FieldType { kText, kBool, kList, kMap };

struct Field {
  const char* name;
  FieldType type;
};

constexpr Field kConfigFields[] = {
    {"apiVersion", FieldType::kText},      {"kind", FieldType::kText},
    {"current-context", FieldType::kText}, {"clusters", FieldType::kList},
    {"users", FieldType::kList},           {"contexts", FieldType::kList},
    {"preferences", FieldType::kMap},      {"extensions", FieldType::kList}};
constexpr Field kClusterFields[] = {{"server", FieldType::kText},
                                    {"tls-server-name", FieldType::kText},
                                    {"insecure-skip-tls-verify", FieldType::kBool},
                                    {"certificate-authority", FieldType::kText},
                                    {"certificate-authority-data", FieldType::kText},
                                    {"proxy-url", FieldType::kText},
                                    {"disable-compression", FieldType::kBool},
                                    {"extensions", FieldType::kList}};
constexpr Field kUserFields[] = {{"client-certificate", FieldType::kText},
                                 {"client-certificate-data", FieldType::kText},
                                 {"client-key", FieldType::kText},
                                 {"client-key-data", FieldType::kText},
                                 {"token", FieldType::kText},
                                 {"tokenFile", FieldType::kText},
                                 {"as", FieldType::kText},
                                 {"as-uid", FieldType::kText},
                                 {"as-groups", FieldType::kList},
                                 {"as-user-extra", FieldType::kMap},
                                 {"username", FieldType::kText},
                                 {"password", FieldType::kText},
                                 {"auth-provider", FieldType::kMap},
                                 {"exec", FieldType::kMap},
                                 {"extensions", FieldType::kList}};
constexpr Field kContextFields[] = {{"cluster", FieldType::kText},
                                    {"user", FieldType::kText},
                                    {"namespace", FieldType::kText},
                                    {"extensions", FieldType::kList}};

struct EntryKind {
  const char* name;
  std::span<const Field> fields;
  std::vector<KubeconfigEntry> Kubeconfig::*entries;
};
const EntryKind kEntryKinds[] = {{"cluster", kClusterFields, &Kubeconfig::clusters},
                                 {"user", kUserFields, &Kubeconfig::users},
                                 {"context", kContextFields, &Kubeconfig::contexts}};

bool IsOf(FieldType type, JsonValue value) {
  switch (type) {
    case FieldType::kText:
      return value.AsString().has_value();
    case FieldType::kBool:
      return value.AsBool().has_value();
    case FieldType::kList:
      return value.IsArray();
    case FieldType::kMap:
      return value.IsObject();
  }
  return false;
}

std::string NotOf(FieldType type) {
  switch (type) {
    case FieldType::kText:
      return kNotAText;
    case FieldType::kBool:
      return " must be true or false, without quotes";
    case FieldType::kList:
      return " is not a list";
    case FieldType::kMap:
      return " is not a map";
  }
  return "";
}

// Names the first field that is of another type than kubectl reads; "" if none is.
std::string WrongField(JsonValue map, std::span<const Field> fields) {
  for (const Field& field : fields) {
    const JsonValue value = map[field.name];
    if (!value.Exists() || value.IsNull() || IsOf(field.type, value)) continue;
    return field.name + NotOf(field.type);
  }
  return "";
}

void ReadFields(JsonValue map, std::span<const Field> fields, KubeconfigEntry& entry) {
  for (const Field& field : fields) {
    const JsonValue value = map[field.name];
    const std::string text(value.AsString().value_or(""));
    if (value.AsBool().value_or(false)) {
      entry.fields.emplace(field.name, "true");
    } else if (!text.empty() || value.size() > 0) {
      entry.fields.emplace(field.name, text);
    }
  }
}

void ReadExec(JsonValue exec, KubeconfigEntry& entry) {
  if (!exec.IsObject()) return;
  const std::string directory = std::filesystem::path(entry.file).parent_path().string();
  entry.exec = ReadExecConfig(
      exec, directory, [&entry](const std::string& what) { entry.problems.push_back(what); });
  entry.exec->source = "kubeconfig " + entry.file + ", user " + Quoted(entry.name);
}

Result<KubeconfigEntry> ReadEntry(JsonValue node, const EntryKind& kind, const std::string& file) {
  const std::string name = kind.name;
  const auto text = node["name"].AsString();
  if (!text) {
    return Failure("an entry of " + name + "s lacks its name; give it a text as name, and a " +
                   name);
  }
  KubeconfigEntry entry;
  entry.name = *text;
  entry.file = file;
  const JsonValue body = node[name];
  if (!body.Exists() || body.IsNull()) return entry;
  const std::string what = name + " " + Quoted(entry.name);
  if (!body.IsObject()) return Failure(what + " is not a map");
  if (const auto wrong = WrongField(body, kind.fields); !wrong.empty()) {
    return Failure(what + ": " + wrong);
  }
  ReadFields(body, kind.fields, entry);
  entry.exec_extension = ReadExecExtension(body);
  ReadExec(body["exec"], entry);
  return entry;
}

Result<Kubeconfig> ReadKubeconfig(JsonValue root, const std::string& file) {
  Kubeconfig config;
  config.files = file;
  if (root.IsNull()) return config;
  if (!root.IsObject()) return Failure("it is not a map; is it a kubeconfig?");
  if (auto wrong = WrongField(root, kConfigFields); !wrong.empty()) return Failure(wrong);
  const auto text = [root](const char* key) {
    return std::string(root[key].AsString().value_or(""));
  };
  const std::string kind = text("kind");
  const std::string version = text("apiVersion");
  if ((!kind.empty() && kind != "Config") || (!version.empty() && version != "v1")) {
    return Failure("it is a " + Quoted(kind) + " of apiVersion " + Quoted(version) +
                   "; a kubeconfig is a Config of v1");
  }
  config.current_context = text("current-context");
  for (const EntryKind& each : kEntryKinds) {
    for (const JsonValue node : root[std::string(each.name) + "s"].Elements()) {
      Result<KubeconfigEntry> entry = ReadEntry(node, each, file);
      if (!entry) return Failure(std::move(entry).error().message);
      if (Find(config.*each.entries, entry->name) != nullptr) {
        return Failure(std::string(each.name) + " " + Quoted(entry->name) +
                       " is there twice; remove or rename one");
      }
      (config.*each.entries).push_back(*std::move(entry));
    }
  }
  return config;
}

// Adds what `next` has and `config` lacks.
void Merge(Kubeconfig& config, Kubeconfig next) {
  config.files += (config.files.empty() ? "" : ":") + next.files;
  if (config.current_context.empty()) config.current_context = std::move(next.current_context);
  for (const auto entries : {&Kubeconfig::clusters, &Kubeconfig::users, &Kubeconfig::contexts}) {
    for (KubeconfigEntry& entry : next.*entries) {
      if (Find(config.*entries, entry.name) == nullptr) (config.*entries).push_back(entry);
    }
  }
}

}  // namespace

const KubeconfigEntry* Find(const std::vector<KubeconfigEntry>& entries, const std::string& name) {
  const auto entry =
      std::find_if(entries.begin(), entries.end(),
                   [&name](const KubeconfigEntry& each) { return each.name == name; });
  return entry == entries.end() ? nullptr : &*entry;
}

std::string NamesOf(const std::vector<KubeconfigEntry>& entries) {
  std::string names;
  for (const KubeconfigEntry& entry : entries)
    names += (names.empty() ? "" : ", ") + Quoted(entry.name);
  return names.empty() ? "none" : names;
}

Result<Kubeconfig> LoadKubeconfig(const std::string& file) {
  const Result<std::string> content = ReadFile(file, kCredentialFileLimit);
  if (!content) {
    return Failure("kubeconfig " + content.error().message +
                   "; name a readable file with --kubeconfig or KUBECONFIG");
  }
  const auto document = ReadYamlAsJson(*content);
  if (!document) return Failure("kubeconfig " + document.error().In(file));
  Result<Kubeconfig> config = ReadKubeconfig(document->root(), file);
  if (!config) return Failure("kubeconfig " + file + ": " + config.error().message);
  return config;
}

Result<Kubeconfig> LoadKubeconfigList(const std::string& list) {
  Kubeconfig config;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    const std::string file = list.substr(begin, end - begin);
    begin = end + 1;
    if (file.empty() || IsMissing(file)) continue;
    Result<Kubeconfig> next = LoadKubeconfig(file);
    if (!next) return next;
    Merge(config, *std::move(next));
  }
  if (config.files.empty()) {
    return Failure("KUBECONFIG names " + list + ", of which no file exists; correct or unset it");
  }
  return config;
}

}  // namespace cluster_watcher
