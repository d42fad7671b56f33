#include "probes/kube/exec_config.h"

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <utility>

#include "probes/base/json.h"
#include "probes/base/names.h"
#include "probes/base/yaml_scalar.h"

namespace cluster_watcher {
namespace {

using Problem = std::function<void(const std::string&)>;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";
constexpr const char* kV1Beta1 = "client.authentication.k8s.io/v1beta1";
// Far more than anybody writes; aliases of aliases make short texts endless.
constexpr std::size_t kMostNodes = 10'000;
constexpr std::size_t kMostLevels = 50;

bool IsAbsent(const YAML::Node& node) { return !node || node.IsNull(); }

// Returns the text of a scalar, "" if it is absent; nullopt: it is none that a program can be
// given, which is said.
std::optional<std::string> TextOf(const YAML::Node& node, const std::string& name,
                                  const Problem& problem) {
  if (IsAbsent(node)) return "";
  if (!node.IsScalar()) {
    problem(name + " is not a text");
    return std::nullopt;
  }
  if (node.Scalar().find('\0') != std::string::npos) {
    problem(name + " holds a NUL character; remove it");
    return std::nullopt;
  }
  return node.Scalar();
}
std::string Text(const YAML::Node& node, const std::string& name, const Problem& problem) {
  return TextOf(node, name, problem).value_or("");
}

std::vector<std::string> ReadArguments(const YAML::Node& list, const Problem& problem) {
  std::vector<std::string> arguments;
  if (IsAbsent(list)) return arguments;
  if (!list.IsSequence()) {
    problem("exec.args is not a list");
    return arguments;
  }
  for (const YAML::Node& each : list) {
    arguments.push_back(Text(each, "an entry of exec.args", problem));
  }
  return arguments;
}

std::map<std::string, std::string> ReadEnvironment(const YAML::Node& list, const Problem& problem) {
  std::map<std::string, std::string> environment;
  if (IsAbsent(list)) return environment;
  if (!list.IsSequence()) {
    problem("exec.env is not a list");
    return environment;
  }
  for (const YAML::Node& each : list) {
    const std::string name =
        each.IsMap() ? Text(each["name"], "a name in exec.env", problem) : std::string();
    if (name.empty() || name.find('=') != std::string::npos) {
      problem("an entry of exec.env lacks the name of a variable; write it as name and value");
      continue;
    }
    environment[name] =
        Text(each["value"], "the value of " + Quoted(name) + " in exec.env", problem);
  }
  return environment;
}

std::string ReadApiVersion(const YAML::Node& exec, const Problem& problem) {
  const auto text = TextOf(exec["apiVersion"], "exec.apiVersion", problem);
  if (!text || *text == kV1 || *text == kV1Beta1) return text.value_or("");
  const std::string& version = *text;
  const std::string what = version.empty() ? "is missing" : Quoted(version) + " is not supported";
  problem("exec.apiVersion " + what + "; set it to what the plugin speaks, " + kV1 + " or " +
          kV1Beta1);
  return "";
}

InteractiveMode ReadInteractiveMode(const YAML::Node& exec, const std::string& api_version,
                                    const Problem& problem) {
  const auto text = TextOf(exec["interactiveMode"], "exec.interactiveMode", problem);
  const std::string mode = text.value_or("IfAvailable");
  if (mode == "Never") return InteractiveMode::kNever;
  if (mode == "Always") return InteractiveMode::kAlways;
  const bool is_default = mode.empty() && api_version != kV1;
  if (mode != "IfAvailable" && !is_default) {
    problem("exec.interactiveMode " + (mode.empty() ? "is missing" : Quoted(mode) + " is unknown") +
            "; set it to Never, IfAvailable or Always");
  }
  return InteractiveMode::kIfAvailable;
}

bool ReadProvideClusterInfo(const YAML::Node& exec, const Problem& problem) {
  const std::string text = Text(exec["provideClusterInfo"], "exec.provideClusterInfo", problem);
  if (!text.empty() && text != "true" && text != "false") {
    problem("exec.provideClusterInfo must be true or false");
  }
  return text == "true";
}

// Writes YAML as JSON, as far as its limits go.
class JsonOf {
 public:
  // Returns nullopt if it is too large.
  static std::optional<std::string> Node(const YAML::Node& node) {
    JsonOf json;
    json.Write(node, 0);
    if (json.nodes_ > kMostNodes) return std::nullopt;
    return json.writer_.Text();
  }

 private:
  void Write(const YAML::Node& node, std::size_t level) {
    if (level > kMostLevels) nodes_ = kMostNodes;
    if (++nodes_ > kMostNodes) {
      writer_.Null();
    } else if (node.IsMap()) {
      writer_.StartObject();
      for (const auto& field : node) {
        writer_.Key(field.first.IsScalar() ? field.first.Scalar() : "");
        Write(field.second, level + 1);
      }
      writer_.EndObject();
    } else if (node.IsSequence()) {
      writer_.StartArray();
      for (const YAML::Node& each : node) Write(each, level + 1);
      writer_.EndArray();
    } else {
      WriteScalar(node);
    }
  }

  void WriteScalar(const YAML::Node& node) {
    const bool is_plain = node.IsScalar() && node.Tag() == "?";
    if (node.IsScalar() && !is_plain) {
      writer_.String(node.Scalar());
      return;
    }
    const YamlScalar scalar = ReadPlainScalar(node.IsScalar() ? node.Scalar() : "");
    switch (scalar.type) {
      case YamlScalar::Type::kNull:
        writer_.Null();
        return;
      case YamlScalar::Type::kBool:
        writer_.Bool(scalar.text == "true");
        return;
      case YamlScalar::Type::kNumber:
        writer_.Number(scalar.text);
        return;
      case YamlScalar::Type::kInfinite:
      case YamlScalar::Type::kString:
        writer_.String(scalar.text);
        return;
    }
  }

  JsonWriter writer_;
  std::size_t nodes_ = 0;
};

}  // namespace

ExecConfig ReadExecConfig(const YAML::Node& exec, const std::string& directory,
                          const Problem& problem) {
  ExecConfig config;
  if (!exec.IsMap()) {
    problem("exec is not a map");
    return config;
  }
  const auto command = TextOf(exec["command"], "exec.command", problem);
  if (command && command->empty()) {
    problem("exec.command is missing; name the program that gives the credentials");
  }
  config.command = command.value_or("");
  if (config.command.find('/') != std::string::npos) {
    config.command = (std::filesystem::path(directory) / config.command).string();
  }
  config.arguments = ReadArguments(exec["args"], problem);
  config.environment = ReadEnvironment(exec["env"], problem);
  config.api_version = ReadApiVersion(exec, problem);
  config.install_hint = Text(exec["installHint"], "exec.installHint", problem);
  config.provide_cluster_info = ReadProvideClusterInfo(exec, problem);
  config.interactive_mode = ReadInteractiveMode(exec, config.api_version, problem);
  return config;
}

std::string ReadExecExtension(const YAML::Node& cluster, const Problem& problem) {
  constexpr const char* kName = "client.authentication.k8s.io/exec";
  const YAML::Node extensions = cluster["extensions"];
  if (!extensions || !extensions.IsSequence()) return "";
  for (const YAML::Node& each : extensions) {
    if (!each.IsMap() || !each["name"] || !each["name"].IsScalar()) continue;
    if (each["name"].Scalar() != kName || IsAbsent(each["extension"])) continue;
    const std::optional<std::string> json = JsonOf::Node(each["extension"]);
    if (!json || !JsonDocument::Parse(*json)) {
      problem(std::string("the extension ") + kName + " can't be written as JSON; correct it");
      return "";
    }
    return *json;
  }
  return "";
}

}  // namespace cluster_watcher
