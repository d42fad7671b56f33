#include "watcher/command/manifest_file.h"

#include <unistd.h>

#include <cstddef>
#include <utility>

#include "probes/base/file.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kFileLimit = 32u << 20;

}  // namespace

std::optional<ManifestFile> ReadManifestFile(const Invocation& invocation,
                                             std::vector<std::string>& errors) {
  if (invocation.files.empty()) {
    errors.push_back("-f is missing: give the file with the cluster's manifests, or - for stdin");
    return std::nullopt;
  }
  if (invocation.files.size() > 1) {
    errors.push_back("--filename: give one file; it may have several documents");
    return std::nullopt;
  }
  const std::string& name = invocation.files.front();
  const bool is_input = name == "-";
  auto text = is_input ? ReadOpenFile(STDIN_FILENO, "the standard input", kFileLimit)
                       : ReadFile(name, kFileLimit);
  if (text) return ManifestFile{is_input ? "stdin" : name, *std::move(text)};
  errors.push_back(text.error().message);
  return std::nullopt;
}

}  // namespace cluster_watcher
