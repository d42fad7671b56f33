#include "probes/kube/kubeconfig.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "probes/base/file.h"
#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

// --- Reading YAML. These functions use nodes, which may throw; LoadKubeconfig catches it. ---

bool IsTextField(const std::string& key) {
  constexpr std::array<std::string_view, 20> kTextFields = {"server",
                                                            "certificate-authority",
                                                            "certificate-authority-data",
                                                            "token",
                                                            "client-certificate",
                                                            "client-certificate-data",
                                                            "user",
                                                            "client-key",
                                                            "client-key-data",
                                                            "cluster",
                                                            "tls-server-name",
                                                            "insecure-skip-tls-verify",
                                                            "username",
                                                            "namespace",
                                                            "proxy-url",
                                                            "password",
                                                            "tokenFile",
                                                            "as",
                                                            "as-uid",
                                                            "disable-compression"};
  return std::find(kTextFields.begin(), kTextFields.end(), key) != kTextFields.end();
}

void ReadExec(const YAML::Node& body, const std::string& kind, KubeconfigEntry& entry) {
  const auto problem = [&entry](const std::string& what) { entry.problems.push_back(what); };
  if (kind == "cluster") entry.exec_extension = ReadExecExtension(body, problem);
  if (kind != "user" || !body["exec"] || body["exec"].IsNull()) return;
  const std::string directory = std::filesystem::path(entry.file).parent_path().string();
  entry.exec = ReadExecConfig(body["exec"], directory, problem);
  entry.exec->source = "kubeconfig " + entry.file + ", user " + Quoted(entry.name);
}

Result<KubeconfigEntry> ReadEntry(const YAML::Node& node, const std::string& kind,
                                  const std::string& file) {
  const auto failed = [&](const std::string& what) {
    const std::string line = std::to_string(node.Mark().line + 1);
    return Failure("kubeconfig " + file + ", line " + line + ": " + what);
  };
  if (!node.IsMap() || !node["name"] || !node["name"].IsScalar()) {
    return failed("this entry of " + kind + "s needs a name and a " + kind);
  }
  KubeconfigEntry entry;
  entry.name = node["name"].Scalar();
  entry.file = file;
  const YAML::Node body = node[kind];
  if (!body || body.IsNull()) return entry;
  if (!body.IsMap()) return failed(kind + " " + Quoted(entry.name) + " is not a map");
  const auto not_text = [&](const std::string& key) {
    return failed(key + " of " + kind + " " + Quoted(entry.name) + " is not a text");
  };
  for (const auto& field : body) {
    if (!field.first.IsScalar()) continue;
    const std::string& key = field.first.Scalar();
    if (IsTextField(key) && !field.second.IsScalar() && !field.second.IsNull()) {
      return not_text(key);
    }
    if (field.second.IsScalar() && !field.second.Scalar().empty()) {
      entry.fields.emplace(key, field.second.Scalar());
    } else if (field.second.size() > 0) {
      entry.fields.emplace(key, "");
    }
  }
  ReadExec(body, kind, entry);
  return entry;
}

Result<std::vector<KubeconfigEntry>> ReadEntries(const YAML::Node& root, const std::string& kind,
                                                 const std::string& file) {
  std::vector<KubeconfigEntry> entries;
  const YAML::Node list = root[kind + "s"];
  if (!list || list.IsNull()) return entries;
  if (!list.IsSequence()) return Failure("kubeconfig " + file + ": " + kind + "s is not a list");
  const auto twice = [&](const std::string& name) {
    return Failure("kubeconfig " + file + ": " + kind + " " + Quoted(name) +
                   " is there twice; remove or rename one");
  };
  for (const YAML::Node& node : list) {
    Result<KubeconfigEntry> entry = ReadEntry(node, kind, file);
    if (!entry) return Failure(std::move(entry).error().message);
    if (Find(entries, entry->name) != nullptr) return twice(entry->name);
    entries.push_back(*std::move(entry));
  }
  return entries;
}

Result<Kubeconfig> ReadKubeconfig(const std::string& content, const std::string& file) {
  const YAML::Node root = YAML::Load(content);
  Kubeconfig config;
  config.files = file;
  if (root.IsNull()) return config;
  if (!root.IsMap())
    return Failure("kubeconfig " + file + ": it is not a map; is it a kubeconfig?");
  const YAML::Node current = root["current-context"];
  if (current && !current.IsNull()) {
    if (!current.IsScalar()) {
      return Failure("kubeconfig " + file + ": current-context is not a text");
    }
    config.current_context = current.Scalar();
  }
  using List = std::pair<const char*, std::vector<KubeconfigEntry> Kubeconfig::*>;
  for (const auto& [kind, entries] :
       {List{"cluster", &Kubeconfig::clusters}, List{"user", &Kubeconfig::users},
        List{"context", &Kubeconfig::contexts}}) {
    Result<std::vector<KubeconfigEntry>> read = ReadEntries(root, kind, file);
    if (!read) return Failure(std::move(read).error().message);
    config.*entries = *std::move(read);
  }
  return config;
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
  try {
    return ReadKubeconfig(*content, file);
  } catch (const YAML::Exception& error) {
    const std::string line =
        error.mark.is_null() ? "" : ", line " + std::to_string(error.mark.line + 1);
    return Failure("kubeconfig " + file + line + ": it is not valid YAML: " + error.msg);
  }
}

void Merge(Kubeconfig& config, Kubeconfig next) {
  config.files += (config.files.empty() ? "" : ":") + next.files;
  if (config.current_context.empty()) config.current_context = std::move(next.current_context);
  for (const auto entries : {&Kubeconfig::clusters, &Kubeconfig::users, &Kubeconfig::contexts}) {
    for (KubeconfigEntry& entry : next.*entries) {
      if (Find(config.*entries, entry.name) == nullptr) (config.*entries).push_back(entry);
    }
  }
}

}  // namespace cluster_watcher
