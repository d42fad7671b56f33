#include "probes/kube/exec_config.h"

#include <filesystem>
#include <optional>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

using Problem = std::function<void(const std::string&)>;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";
constexpr const char* kV1Beta1 = "client.authentication.k8s.io/v1beta1";

bool IsAbsent(JsonValue value) { return !value.Exists() || value.IsNull(); }

// Returns the text, "" if it is absent; nullopt: it is none that a program can be given, which is
// said.
std::optional<std::string> TextOf(JsonValue value, const std::string& name,
                                  const Problem& problem) {
  if (IsAbsent(value)) return "";
  const auto text = value.AsString();
  if (!text) {
    problem(name + kNotAText);
    return std::nullopt;
  }
  if (text->find('\0') != std::string_view::npos) {
    problem(name + " holds a NUL character; remove it");
    return std::nullopt;
  }
  return std::string(*text);
}
std::string Text(JsonValue value, const std::string& name, const Problem& problem) {
  return TextOf(value, name, problem).value_or("");
}

std::vector<std::string> ReadArguments(JsonValue list, const Problem& problem) {
  std::vector<std::string> arguments;
  if (IsAbsent(list)) return arguments;
  if (!list.IsArray()) {
    problem("exec.args is not a list");
    return arguments;
  }
  for (const JsonValue each : list.Elements()) {
    arguments.push_back(Text(each, "an entry of exec.args", problem));
  }
  return arguments;
}

std::map<std::string, std::string> ReadEnvironment(JsonValue list, const Problem& problem) {
  std::map<std::string, std::string> environment;
  if (IsAbsent(list)) return environment;
  if (!list.IsArray()) {
    problem("exec.env is not a list");
    return environment;
  }
  for (const JsonValue each : list.Elements()) {
    const std::string name = Text(each["name"], "a name in exec.env", problem);
    if (name.empty() || name.find('=') != std::string::npos) {
      problem("an entry of exec.env lacks the name of a variable; write it as name and value");
      continue;
    }
    environment[name] =
        Text(each["value"], "the value of " + Quoted(name) + " in exec.env", problem);
  }
  return environment;
}

std::string ReadApiVersion(JsonValue exec, const Problem& problem) {
  const auto text = TextOf(exec["apiVersion"], "exec.apiVersion", problem);
  if (!text || *text == kV1 || *text == kV1Beta1) return text.value_or("");
  const std::string& version = *text;
  const std::string what = version.empty() ? "is missing" : Quoted(version) + " is not supported";
  problem("exec.apiVersion " + what + "; set it to what the plugin speaks, " + kV1 + " or " +
          kV1Beta1);
  return "";
}

InteractiveMode ReadInteractiveMode(JsonValue exec, const std::string& api_version,
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

bool ReadProvideClusterInfo(JsonValue exec, const Problem& problem) {
  const JsonValue value = exec["provideClusterInfo"];
  if (!IsAbsent(value) && !value.AsBool()) {
    problem("exec.provideClusterInfo must be true or false, without quotes");
  }
  return value.AsBool().value_or(false);
}

}  // namespace

ExecConfig ReadExecConfig(JsonValue exec, const std::string& directory, const Problem& problem) {
  ExecConfig config;
  const auto command = TextOf(exec["command"], "exec.command", problem);
  if (command && command->empty()) {
    problem("exec.command is missing; name the program that gives the credentials");
  }
  config.command = command.value_or("");
  if (config.command.find('/') != std::string::npos) {
    const auto path = (std::filesystem::path(directory) / config.command).lexically_normal();
    // Without a slash it would be looked up in PATH.
    config.command = (path.has_parent_path() ? path : "." / path).string();
  }
  config.arguments = ReadArguments(exec["args"], problem);
  config.environment = ReadEnvironment(exec["env"], problem);
  config.api_version = ReadApiVersion(exec, problem);
  config.install_hint = Text(exec["installHint"], "exec.installHint", problem);
  config.provide_cluster_info = ReadProvideClusterInfo(exec, problem);
  config.interactive_mode = ReadInteractiveMode(exec, config.api_version, problem);
  return config;
}

std::string ReadExecExtension(JsonValue cluster) {
  for (const JsonValue each : cluster["extensions"].Elements()) {
    if (each["name"].AsString() != "client.authentication.k8s.io/exec") continue;
    return IsAbsent(each["extension"]) ? "" : each["extension"].ToText();
  }
  return "";
}

}  // namespace cluster_watcher
