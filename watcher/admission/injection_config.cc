#include "watcher/admission/injection_config.h"

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "probes/base/file.h"
#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileLimit = 1 << 20;  // the size limit of a ConfigMap
constexpr char kConfigMapName[] = "cluster-watcher";
constexpr int kMostAttempts = 10;

std::string WithoutNewline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// The keys of a mounted ConfigMap link into a directory that changes with every version.
fs::path VersionOf(const std::string& path) {
  std::error_code none;
  const fs::path version = fs::canonical(fs::path(path) / "..data", none);
  return none ? fs::path(path) : version;
}

Result<TextMap> ReadDirectory(const fs::path& directory) {
  TextMap data;
  std::error_code error;
  std::error_code not_followed;  // reading it says why
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string key = entry->path().filename().string();
    // Kubernetes' own files and directories.
    if (key.starts_with("..") || entry->is_directory(not_followed)) continue;
    Result<std::string> text = ReadFile(entry->path().string(), kFileLimit);
    if (!text) return Failure(text.error().message);
    data[key] = WithoutNewline(*std::move(text));
  }
  if (error) return Failure(directory.string() + ": " + error.message());
  return data;
}

// Repeats the read if the version, and so its files, was replaced in the meantime.
Result<TextMap> LoadDirectory(const std::string& path) {
  for (int attempt = 1;; ++attempt) {
    const fs::path version = VersionOf(path);
    auto data = ReadDirectory(version);
    if (VersionOf(path) == version || attempt == kMostAttempts) return data;
  }
}

// --- These functions use nodes, which may throw; LoadFile catches it. ---

bool IsText(const YAML::Node& node) {
  // An unquoted scalar may be a number or boolean, which a ConfigMap can't hold.
  if (!node.IsScalar()) return false;
  bool truth = false;
  double number = 0;
  return node.Tag() != "?" || (!YAML::convert<bool>::decode(node, truth) &&
                               !YAML::convert<double>::decode(node, number));
}

Result<TextMap> ReadData(const YAML::Node& data, const std::string& path) {
  const auto failed = [&](const YAML::Node& at, const std::string& what) {
    return Failure(path + ", line " + std::to_string(at.Mark().line + 1) + ": " + what);
  };
  TextMap texts;
  if (!data || data.IsNull()) return texts;
  if (!data.IsMap()) return failed(data, "the ConfigMap's data is no map");
  for (const auto& field : data) {
    if (!field.first.IsScalar()) return failed(field.first, "a key of the ConfigMap is no text");
    const std::string& key = field.first.Scalar();
    if (!IsText(field.second)) return failed(field.first, Quoted(key) + " is no text: quote it");
    if (texts.contains(key)) return failed(field.first, Quoted(key) + " is there twice");
    texts[key] = WithoutNewline(field.second.Scalar());
  }
  return texts;
}

Result<TextMap> ReadManifest(const std::string& content, const std::string& path) {
  std::vector<YAML::Node> found;
  for (const YAML::Node& document : YAML::LoadAll(content)) {
    if (!document.IsMap() || !document["kind"].IsScalar()) continue;
    if (document["kind"].Scalar() == "ConfigMap") found.push_back(document);
  }
  if (found.empty()) {
    return Failure(path + ": there is no ConfigMap in it: give the manifest of the ConfigMap " +
                   kConfigMapName + ", or a directory with one file for each key");
  }
  if (found.size() == 1) return ReadData(found[0]["data"], path);
  for (const YAML::Node& one : found) {
    const YAML::Node metadata = one["metadata"];
    if (metadata.IsMap() && metadata["name"].IsScalar() &&
        metadata["name"].Scalar() == kConfigMapName) {
      return ReadData(one["data"], path);
    }
  }
  return Failure(path + ": none of the ConfigMaps in it is called " + kConfigMapName);
}

Result<TextMap> LoadFile(const std::string& path) {
  const Result<std::string> content = ReadFile(path, kFileLimit);
  if (!content) return Failure(content.error().message);
  try {
    return ReadManifest(*content, path);
  } catch (const YAML::Exception& error) {
    const std::string line =
        error.mark.is_null() ? "" : ", line " + std::to_string(error.mark.line + 1);
    return Failure(path + line + ": it is not valid YAML: " + error.msg);
  }
}

}  // namespace

Result<TextMap> LoadInjectionConfig(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? LoadDirectory(path) : LoadFile(path);
}

}  // namespace cluster_watcher
