// Fuzzes manifests: the result is an error that names the place, or text in which a document
// without a sidecar is unchanged, byte for byte, and one with it means the same except for the
// sidecar. A second injection changes nothing.
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/read_yaml.h"
#include "test/fuzz/fuzz.h"
#include "watcher/admission/manifest/inject_manifests.h"
#include "watcher/admission/manifest/json_manifest.h"
#include "watcher/admission/manifest/manifest_documents.h"
#include "watcher/admission/manifest/write_yaml.h"

namespace cluster_watcher {
namespace {

std::string Meaning(const YamlNode& node) {
  return WriteJson(node, JsonWriter::Style::kCompact, Scalars::kMeant);
}

// A rewritten document means the same.
void TryYaml(std::string_view text) {
  const auto read = ReadYaml(text);
  if (!read) {
    Require(read.error().line > 0 && read.error().column > 0, "an error has a place");
    Require(IsOneLine(read.error().message), "an error is one line");
    return;
  }
  if (!*read || (*read)->oddity || (*read)->root.type != YamlNode::Type::kMap) return;
  const std::string written = WriteYaml((*read)->root);
  const auto again = ReadYaml(written);
  Require(again && *again && !(*again)->oddity, "what is written can be read");
  Require(Meaning((*again)->root) == Meaning((*read)->root), "what is written means the same");
  Require(WriteYaml((*again)->root) == written, "written twice it is the same");
}

void TryJson(std::string_view text) {
  const auto read = ReadJson(text);
  if (!read) return;
  const std::string written =
      WriteJson(read->root, JsonWriter::Style::kIndented, Scalars::kWritten);
  const auto again = ReadJson(written);
  Require(again && again->size == written.size(), "what is written is one value");
  Require(Meaning(again->root) == Meaning(read->root), "what is written means the same");
}

void TryInjection(const std::string& text) {
  InjectionSettings settings;
  settings.image = "cluster-watcher:0.1.0";
  const std::vector<ManifestFile> file = {{"file", text}};
  const auto injected = InjectManifests(file, settings);
  if (!injected) {
    Require(injected.error().message.starts_with("file, line "), "an error names the place");
    Require(IsOneLine(injected.error().message), "an error is one line");
    return;
  }
  for (const auto* lines : {&injected->warnings, &injected->annotation_problems}) {
    for (const std::string& line : *lines) Require(IsOneLine(line), "a warning is one line");
  }
  const std::vector<ManifestFile> once = {{"file", injected->text}};
  const auto twice = InjectManifests(once, settings);
  Require(twice.has_value(), "what is injected can be read");
  Require(twice->text == injected->text, "injected twice it is the same");
  if (injected->text.find("CLUSTER_WATCHER_LISTEN") == std::string::npos) {
    Require(injected->text == text, "without a sidecar it is the same");
  }
}

}  // namespace

void TryInput(std::string_view input) {
  if (!FindIllegalByte(input)) {
    for (const YamlDocument& document : SplitYaml(input)) TryYaml(document.text);
    TryJson(input);
  }
  TryInjection(std::string(input));
}

}  // namespace cluster_watcher
