#include "watcher/admission/manifest/inject_manifests.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "probes/base/json.h"
#include "probes/base/names.h"
#include "probes/base/read_yaml.h"
#include "watcher/admission/injection.h"
#include "watcher/admission/manifest/json_manifest.h"
#include "watcher/admission/manifest/manifest_documents.h"
#include "watcher/admission/manifest/write_yaml.h"
#include "watcher/admission/misplaced_annotations.h"
#include "watcher/admission/pod_templates.h"

namespace cluster_watcher {
namespace {

constexpr std::string_view kList = "List";

using Type = YamlNode::Type;

// Returns "deployment/bob".
std::string NameOf(JsonValue object) {
  const JsonValue metadata = object["metadata"];
  std::string_view name = metadata["name"].AsString().value_or("");
  if (name.empty()) name = metadata["generateName"].AsString().value_or("");
  const std::string quoted = Quoted(name);
  return LowerCase(object["kind"].AsString().value_or("")) + "/" +
         quoted.substr(1, quoted.size() - 2);
}

// Returns the same of what may not be fit for JSON; "/" if it says neither.
std::string NameOf(const YamlNode& object, std::string_view kind) {
  const YamlNode* metadata = object.Find("metadata");
  const std::string quoted = Quoted(metadata == nullptr ? "" : metadata->TextAt("name"));
  return LowerCase(kind) + "/" + quoted.substr(1, quoted.size() - 2);
}
std::string Before(const YamlNode& object) {
  const std::string name = NameOf(object, object.TextAt("kind"));
  return name == "/" ? "" : name + ": ";
}

YamlNode WithKind(YamlNode object, std::string_view api_version, std::string_view kind) {
  for (const auto& [path, text] :
       {std::pair("/apiVersion", api_version), std::pair("/kind", kind)}) {
    YamlNode value;
    value.type = Type::kString;
    value.text = text;
    static_cast<void>(AddTo(object, path, std::move(value)));  // a map takes it
  }
  return object;
}

// Collects the messages about one file, each of them once.
class Messages {
 public:
  Messages(std::string file, InjectedManifests& injected)
      : file_(std::move(file)), injected_(injected) {}

  void Warn(const std::string& object, const std::string& message) {
    Add(object, message, injected_.warnings);
  }
  void AnnotationProblem(const std::string& object, const std::string& message) {
    Add(object, message, injected_.annotation_problems);
  }

 private:
  void Add(const std::string& object, const std::string& message,
           std::vector<std::string>& messages) {
    std::string line = file_ + ": " + object + ": " + message;
    if (said_.insert(line).second) messages.push_back(std::move(line));
  }

  std::string file_;
  std::unordered_set<std::string> said_;
  InjectedManifests& injected_;
};

// Holds the looks of a sidecar, and the fate of one that is there.
struct Order {
  const InjectionSettings& settings;
  OldImage old_image;
};

// Injects into the objects of one document.
class Injector {
 public:
  Injector(const Order& order, Messages& messages) : order_(order), messages_(messages) {}

  bool has_injected() const { return has_injected_; }

  // `object` may be a list of objects. The recursion is bounded by the reader's depth limit. Items
  // of a PodList that don't say their kind are Pods. Source: decodeToList in
  // k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/helpers.go.
  Result<Done> Into(YamlNode& object, std::string_view api_version_of_list = "",
                    std::string_view kind_of_items = "") {
    if (object.type != Type::kMap) return Done{};
    const bool says_kind = !object.TextAt("kind").empty();
    const std::string_view kind = says_kind ? object.TextAt("kind") : kind_of_items;
    const std::string_view api_version =
        says_kind ? object.TextAt("apiVersion") : api_version_of_list;
    if (YamlNode* items = object.Find("items"); kind.ends_with(kList) && items != nullptr) {
      for (YamlNode& item : items->items) {
        auto done = Into(item, api_version, kind.substr(0, kind.size() - kList.size()));
        if (!done) return done;
      }
      return Done{};
    }
    if (const std::string why = WhyOnlyAtAdmission(api_version, kind); !why.empty()) {
      messages_.Warn(NameOf(object, kind), why);
    }
    if (!HasPodTemplates(api_version, kind)) return Done{};
    const auto read = [](const YamlNode& whole) {
      return JsonDocument::Parse(WriteJson(whole, JsonWriter::Style::kCompact, Scalars::kMeant));
    };
    const auto json = says_kind ? read(object) : read(WithKind(object, api_version, kind));
    if (!json) return Failure(Before(object) + "it is not fit for JSON: " + json.error().message);
    const std::string name = NameOf(json->root());
    for (const std::string& line : MisplacedAnnotations(json->root())) messages_.Warn(name, line);
    for (const PodTemplate& found : PodTemplatesOf(json->root())) {
      if (auto done = Into(object, found, name); !done) return done;
    }
    return Done{};
  }

 private:
  Result<Done> Into(YamlNode& object, const PodTemplate& found, const std::string& name) {
    AnnotationProblems problems(order_.settings.profiles);
    problems.Add(found.pod);
    for (const std::string& problem : problems.Lines()) {
      messages_.AnnotationProblem(name, problem);
    }
    Injection injection = Inject(found.pod, order_.settings);
    if (injection.outcome == Injection::Outcome::kAlready) SeeToImage(found.pod, injection);
    for (const std::string& warning : injection.warnings) messages_.Warn(name, warning);
    has_injected_ = has_injected_ || !injection.patch.empty();
    for (const PatchOperation& operation : injection.patch) {
      Result<JsonManifest> value = ReadJson(operation.value);
      if (!value) return Failure(name + ": " + value.error().message);
      auto added = AddTo(object, found.path + operation.path, std::move(value->root));
      if (!added) return Failure(name + ": " + added.error().message);
    }
    return Done{};
  }

  // Adds to what is done to a sidecar that is there.
  void SeeToImage(JsonValue pod, Injection& injection) const {
    const auto image = SidecarImage(pod["spec"]);
    if (order_.old_image == OldImage::kStays || image == order_.settings.image) return;
    if (order_.old_image == OldImage::kStaysWithAWarning || !image) {
      injection.warnings.push_back(image ? "its sidecar keeps the image " + Quoted(*image) +
                                               ": --image replaces it"
                                         : "its sidecar keeps its image: it is no init container");
      return;
    }
    std::vector<PatchOperation> patch = ImagePatch(pod, order_.settings);
    // A change of the port writes the image down too.
    injection.patch.insert(injection.patch.begin(), patch.begin(), patch.end());
  }

  const Order& order_;
  Messages& messages_;
  bool has_injected_ = false;
};

// The documents of one file as they will be written.
struct Written {
  bool is_json = false;
  std::vector<std::string> documents;
};

using OrError = Result<Written, YamlError>;

// Requires that `text` begins with an object.
OrError InjectJson(std::string_view text, const Order& order, Messages& messages) {
  Written written{true, {}};
  for (std::size_t at = 0; text.find_first_not_of(kWhite, at) != std::string_view::npos;) {
    const std::size_t begin = text.find_first_not_of(kWhite, at);
    Result<JsonManifest> manifest = ReadJson(text.substr(begin));
    if (!manifest) {
      return Unexpected<YamlError>{ErrorAtByte(text, begin, manifest.error().message)};
    }
    const std::size_t end = begin + manifest->size;
    // White space stays with the value before it.
    const std::size_t next = std::min(text.find_first_not_of(kWhite, end), text.size());
    Injector injector(order, messages);
    const auto done = injector.Into(manifest->root);
    if ((!done || injector.has_injected()) && !manifest->oddity.empty()) {
      return Unexpected<YamlError>{
          ErrorAtByte(text, begin, Before(manifest->root) + manifest->oddity)};
    }
    if (!done) return Unexpected<YamlError>{ErrorAtByte(text, begin, done.error().message)};
    std::string document(text.substr(at, next - at));
    if (injector.has_injected()) {
      const bool is_indented = text.substr(begin, end - begin).find('\n') != std::string_view::npos;
      const auto style = is_indented ? JsonWriter::Style::kIndented : JsonWriter::Style::kCompact;
      document.replace(begin - at, end - begin,
                       WriteJson(manifest->root, style, Scalars::kWritten));
    }
    written.documents.push_back(std::move(document));
    at = next;
  }
  return written;
}

Result<std::string, YamlError> InjectYaml(const YamlDocument& document, const Order& order,
                                          Messages& messages) {
  const auto failed = [&](YamlError error) {
    error.line += document.line;
    return Unexpected<YamlError>{std::move(error)};
  };
  auto manifest = ReadYaml(document.text);
  if (!manifest) {
    manifest.error().message = "it is not valid YAML: " + manifest.error().message;
    return failed(manifest.error());
  }
  if (!*manifest) return std::string(document.text);
  Injector injector(order, messages);
  const auto done = injector.Into((*manifest)->root);
  if ((!done || injector.has_injected()) && (*manifest)->oddity) {
    YamlError odd = *(*manifest)->oddity;
    odd.message.insert(0, Before((*manifest)->root));
    return failed(std::move(odd));
  }
  if (!done) return failed(ErrorAtByte(document.text, document.head, done.error().message));
  if (!injector.has_injected()) return std::string(document.text);
  const bool has_marker = document.text.starts_with("---");
  const std::string head = document.head == 0 && has_marker
                               ? "---\n"
                               : std::string(document.text.substr(0, document.head));
  return head + WriteYaml((*manifest)->root);
}

OrError InjectFile(std::string_view text, const Order& order, Messages& messages) {
  if (auto error = FindIllegalByte(text)) return Unexpected<YamlError>{*error};
  std::string_view mark;
  if (text.starts_with(kByteOrderMark)) {
    mark = text.substr(0, kByteOrderMark.size());
    text.remove_prefix(mark.size());
  }
  Written written;
  const std::size_t first = text.find_first_not_of(kWhite);
  if (first != std::string_view::npos && text[first] == '{') {
    OrError json = InjectJson(text, order, messages);
    // YAML may begin with a brace, too.
    if (json) written = *std::move(json);
  }
  if (!written.is_json) {
    for (const YamlDocument& document : SplitYaml(text)) {
      auto injected = InjectYaml(document, order, messages);
      if (!injected) return Unexpected<YamlError>{injected.error()};
      written.documents.push_back(*std::move(injected));
    }
  }
  if (!mark.empty()) {
    if (written.documents.empty()) written.documents.emplace_back();
    written.documents.front().insert(0, mark);
  }
  return written;
}

void EndLine(std::string& text) {
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
}

// JSON is valid YAML, so a mix of both is written as YAML.
std::string Join(const std::vector<Written>& files) {
  const bool all_json =
      std::all_of(files.begin(), files.end(), [](const Written& file) { return file.is_json; });
  std::string text;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t n = 0; n < files[i].documents.size(); ++n) {
      std::string_view document = files[i].documents[n];
      const bool is_first_of_file = n == 0;
      if (files.size() > 1 && is_first_of_file && document.starts_with(kByteOrderMark)) {
        document.remove_prefix(kByteOrderMark.size());
      }
      const bool is_glued =
          files.size() == 1 || all_json || (!is_first_of_file && !files[i].is_json);
      if (files.size() > 1 && is_first_of_file) EndLine(text);
      if (!is_glued && !document.starts_with("---")) {
        EndLine(text);
        text += "---\n";
      }
      text += document;
    }
  }
  return text;
}

}  // namespace

Result<InjectedManifests> InjectManifests(std::span<const ManifestFile> files,
                                          const InjectionSettings& settings, OldImage old_image) {
  InjectedManifests injected;
  std::vector<Written> written;
  for (const ManifestFile& file : files) {
    Messages messages(file.name, injected);
    OrError one = InjectFile(file.text, {settings, old_image}, messages);
    if (!one) return Failure(one.error().In(file.name));
    written.push_back(*std::move(one));
  }
  injected.text = Join(written);
  return injected;
}

}  // namespace cluster_watcher
