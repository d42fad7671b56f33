#include "watcher/command/manifest_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "probes/base/file.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kFileLimit = 32u << 20;

std::vector<std::string> FilesIn(const std::string& directory, std::vector<std::string>& errors) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string extension = entry->path().extension().string();
    const bool is_manifest = extension == ".yaml" || extension == ".yml" || extension == ".json";
    std::error_code ignored;
    if (is_manifest && !entry->is_directory(ignored)) files.push_back(entry->path().string());
  }
  if (error) errors.push_back(directory + " can't be read: " + error.message());
  if (!error && files.empty()) {
    errors.push_back(directory + " has no files that end with .yaml, .yml or .json");
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<ManifestFile> ReadManifestFiles(const std::vector<std::string>& names,
                                            std::vector<std::string>& errors) {
  std::vector<ManifestFile> files;
  for (const std::string& name : names) {
    std::error_code ignored;
    if (name != "-" && std::filesystem::is_directory(name, ignored)) {
      for (ManifestFile& file : ReadManifestFiles(FilesIn(name, errors), errors)) {
        files.push_back(std::move(file));
      }
      continue;
    }
    auto text = name == "-" ? ReadOpenFile(STDIN_FILENO, "the standard input", kFileLimit)
                            : ReadFile(name, kFileLimit);
    if (text) {
      files.push_back({name == "-" ? "stdin" : name, *std::move(text)});
    } else {
      errors.push_back(text.error().message);
    }
  }
  return files;
}

}  // namespace cluster_watcher
