#include "watcher/protocol/steps.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/json.h"
#include "probes/base/names.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kMostSteps = 100;
constexpr std::size_t kLongestName = 100;
constexpr Duration kLongestTimeout = std::chrono::hours(24);
constexpr const char* kWantedCommand = "command must be a list of texts";
constexpr const char* kWantedEnv =
    "env must be a list of variables, each with a name and a value, both texts";

// Returns a key that isn't one of `known`; nullopt if there is none.
std::optional<std::string> UnknownKey(JsonValue object, std::initializer_list<const char*> known) {
  for (const auto& [key, value] : object.Members()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) return std::string(key);
  }
  return std::nullopt;
}

Unexpected<Error> Unknown(const std::string& key) {
  return Failure(Quoted(key) + " is unknown: correct it, or take it out");
}

Result<HttpMethod> ParseMethod(JsonValue method) {
  if (!method.Exists()) return HttpMethod::kPost;
  constexpr std::array kMethods = {HttpMethod::kGet, HttpMethod::kPost, HttpMethod::kPut,
                                   HttpMethod::kPatch, HttpMethod::kDelete};
  for (const HttpMethod known : kMethods) {
    if (method.AsString() == ToString(known)) return known;
  }
  return Failure("http.method is none of GET, POST, PUT, PATCH and DELETE");
}

bool IsPort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port <= 65535;
}

// Accepts "HOST", "HOST:PORT" and "[IPV6]:PORT", without a user.
bool IsAuthority(std::string_view text) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  const std::size_t colon = text.find(':', bracket);
  const std::string_view host = text.substr(0, colon);
  if (host.empty() || host.find('@') != std::string_view::npos) return false;
  return colon == std::string_view::npos ||
         (IsPort(text.substr(colon + 1)) && text.find('@') == std::string_view::npos);
}

Result<Done> ParseUrl(JsonValue value, StepRequest& request) {
  constexpr const char* kWanted =
      "http.url must be http://HOST[:PORT][/PATH] or https://..., without user and fragment";
  const std::string_view url = value.AsString().value_or("");
  const std::size_t scheme = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  const bool odd = std::any_of(url.begin(), url.end(), [](unsigned char c) {
    return c <= ' ' || c >= 0x7f || c == '#' || c == '\\';
  });
  if (scheme == 0 || odd) return Failure(kWanted);
  const std::size_t path = std::min(url.find_first_of("/?", scheme), url.size());
  if (!IsAuthority(url.substr(scheme, path - scheme))) return Failure(kWanted);
  request.server = url.substr(0, path);
  request.target = url.substr(path);
  if (!request.target.starts_with('/')) request.target.insert(0, "/");
  return Done{};
}

Result<StepRequest> ParseRequest(JsonValue http) {
  if (!http.IsObject()) return Failure("http must be an object with a url");
  if (const auto unknown = UnknownKey(http, {"method", "url"})) return Unknown(*unknown);
  StepRequest request;
  const auto method = ParseMethod(http["method"]);
  if (!method) return Failure(method.error().message);
  request.method = *method;
  if (auto url = ParseUrl(http["url"], request); !url) return Failure(url.error().message);
  return request;
}

// Printable ASCII but for spaces, as in the names of images and of variables.
bool IsWord(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Result<PodToRun> ParsePod(JsonValue step) {
  PodToRun pod;
  pod.image = step["image"].AsString().value_or("");
  if (!IsWord(pod.image)) return Failure("image must be the name of a container image");
  const JsonValue command = step["command"];
  if (command.Exists() && !command.IsArray()) return Failure(kWantedCommand);
  for (const JsonValue word : command.Elements()) {
    if (!word.AsString()) return Failure(kWantedCommand);
    pod.command.emplace_back(*word.AsString());
  }
  const JsonValue env = step["env"];
  if (env.Exists() && !env.IsArray()) return Failure(kWantedEnv);
  for (const JsonValue variable : env.Elements()) {
    const auto name = variable["name"].AsString();
    const auto value = variable["value"].AsString();
    const bool is_name = name && IsWord(*name) && name->find('=') == name->npos;
    if (!is_name || !value || variable.size() != 2) return Failure(kWantedEnv);
    pod.env.emplace_back(*name, *value);
  }
  return pod;
}

Result<Step> ParseStep(JsonValue value) {
  if (!value.IsObject()) return Failure("it is not an object");
  Step step;
  step.name = value["name"].AsString().value_or("");
  const bool odd = std::any_of(step.name.begin(), step.name.end(),
                               [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (step.name.empty() || step.name.size() > kLongestName || odd) {
    return Failure("name must be a text of 1 to 100 bytes on one line");
  }
  const bool is_pod = value["image"].Exists();
  if (is_pod == value["http"].Exists()) {
    return Failure("it must have either http, with a url, or an image");
  }
  const auto unknown =
      is_pod ? UnknownKey(value, {"name", "image", "command", "env", "timeout", "onFailure"})
             : UnknownKey(value, {"name", "http", "timeout", "onFailure"});
  if (unknown) return Unknown(*unknown);
  if (is_pod) {
    auto pod = ParsePod(value);
    if (!pod) return Failure(pod.error().message);
    step.what = *std::move(pod);
    step.timeout = kLongestTimeout;
  } else {
    auto request = ParseRequest(value["http"]);
    if (!request) return Failure(request.error().message);
    step.what = *std::move(request);
  }
  if (const JsonValue timeout = value["timeout"]; timeout.Exists()) {
    const auto parsed = ParseDuration(timeout.AsString().value_or(""));
    if (!parsed || *parsed <= Duration(0) || *parsed > kLongestTimeout) {
      return Failure("timeout must be a duration above 0s, at most 24h, such as \"10s\"");
    }
    step.timeout = *parsed;
  }
  if (const JsonValue on_failure = value["onFailure"]; on_failure.Exists()) {
    const bool retries = on_failure.AsString() == "retry";
    if (!retries && on_failure.AsString() != "continue") {
      return Failure("onFailure must be \"continue\" or \"retry\"");
    }
    step.on_failure = retries ? OnFailure::kRetry : OnFailure::kContinue;
  }
  return step;
}

}  // namespace

bool Steps::HavePods() const {
  const auto is_pod = [](const Step& step) { return step.IsPod(); };
  return std::any_of(before.begin(), before.end(), is_pod) ||
         std::any_of(after.begin(), after.end(), is_pod);
}

Result<std::vector<Step>> ParseSteps(std::string_view text) {
  if (auto error = annotation::TooLong(text, annotation::kLongestSteps)) return Failure(*error);
  const auto document = JsonDocument::Parse(text);
  if (!document) return Failure("it is not JSON: " + document.error().message);
  const JsonValue list = document->root();
  if (!list.IsArray()) return Failure("it must be a JSON list of steps");
  if (list.size() > kMostSteps) return Failure("it holds more than 100 steps");
  std::vector<Step> steps;
  for (JsonValue value : list.Elements()) {
    auto step = ParseStep(value);
    const std::string which = "step " + std::to_string(steps.size() + 1) + " (" +
                              Quoted(value["name"].AsString().value_or("")) + "): ";
    if (!step) return Failure(which + step.error().message);
    const bool twice = std::any_of(steps.begin(), steps.end(),
                                   [&](const Step& other) { return other.name == step->name; });
    if (twice) return Failure(which + "another step has that name: rename one");
    steps.push_back(*std::move(step));
  }
  return steps;
}

void ReadSteps(const ObjectMeta& meta, Steps& steps, std::vector<std::string>& errors) {
  const auto read = [&](const char* key, std::vector<Step>& into, bool& has) {
    const auto text = meta.Annotation(key);
    if (!text) return;
    auto parsed = ParseSteps(*text);
    if (!parsed) {
      errors.push_back("annotation " + std::string(key) +
                       (meta.name.empty() ? "" : " on " + meta.name) + ": " +
                       parsed.error().message);
    } else if (!has) {
      into = *std::move(parsed);
      has = true;
    }
  };
  read(annotation::kBeforeDelete, steps.before, steps.has_before);
  read(annotation::kAfterDelete, steps.after, steps.has_after);
}

}  // namespace cluster_watcher
