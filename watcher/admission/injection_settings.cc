#include "watcher/admission/injection_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "probes/base/names.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {
namespace {

constexpr std::string_view kDefaultPrefix = "default.";
// Others than the pod's own watcher, as `sweep`, would look for another driver.
constexpr std::string_view kOfOneCluster[] = {"owner", "owner-kind", "owner-namespace"};
// The last port that is tried, kPortsTried - 1 above the first, must be valid, too.
constexpr int kLeastPort = 1024;
constexpr int kMostPort = 65'526;
// All annotations of a pod may have 256 KiB together. The policy has the same bound.
constexpr std::size_t kLongestDefault = 4096;

using Errors = std::vector<std::string>;
using Read = std::function<std::optional<std::string>(const std::string& text)>;  // what is wrong

Read Number(int& field, int least, int most) {
  return [&field, least, most](const std::string& text) -> std::optional<std::string> {
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || number < least || number > most) {
      return Quoted(text) + ": give a whole number from " + std::to_string(least) + " to " +
             std::to_string(most);
    }
    field = number;
    return std::nullopt;
  };
}

Read Quantity(std::string& field) {
  return [&field](const std::string& text) -> std::optional<std::string> {
    if (!ParseQuantity(text)) {
      return Quoted(text) + " is not a quantity: give, for example, 100m or 64Mi";
    }
    field = text;
    return std::nullopt;
  };
}

// Reads names, comma separated; none if the text is empty.
Read Names(std::vector<std::string>& field) {
  return [&field](const std::string& text) -> std::optional<std::string> {
    std::vector<std::string> names;
    for (std::size_t at = 0; !text.empty() && at <= text.size(); at += names.back().size() + 1) {
      names.push_back(text.substr(at, text.find(',', at) - at));
      const std::string& name = names.back();
      if (!IsDnsSubdomain(name))
        return Quoted(name) + " is not a Secret's name: give, for example, registry";
      if (std::count(names.begin(), names.end(), name) > 1) return Quoted(name) + " is there twice";
    }
    field = std::move(names);
    return std::nullopt;
  };
}

bool IsImage(std::string_view text) {
  return !text.empty() && text.size() <= 1024 && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '\\';
  });
}

std::map<std::string, Read, std::less<>> Readers(InjectionSettings& settings) {
  return {
      {"image",
       [&](const std::string& text) -> std::optional<std::string> {
         if (!IsImage(text)) {
           return Quoted(text) + " is not an image: give, for example, cluster-watcher:0.1.0";
         }
         settings.image = text;
         return std::nullopt;
       }},
      {"imagePullPolicy",
       [&](const std::string& text) -> std::optional<std::string> {
         if (text != "Always" && text != "IfNotPresent" && text != "Never") {
           return Quoted(text) + " is unknown: give Always, IfNotPresent or Never";
         }
         settings.image_pull_policy = text;
         return std::nullopt;
       }},
      {"imagePullSecrets", Names(settings.image_pull_secrets)},
      {"port", Number(settings.port, kLeastPort, kMostPort)},
      {"cpuRequest", Quantity(settings.cpu_request)},
      {"memoryRequest", Quantity(settings.memory_request)},
      {"cpuLimit", Quantity(settings.cpu_limit)},
      {"memoryLimit", Quantity(settings.memory_limit)},
      {"tokenAudience",
       [&](const std::string& text) -> std::optional<std::string> {
         settings.token_audience = text;
         return std::nullopt;
       }},
      {"tokenExpirationSeconds", Number(settings.token_expiration_seconds, 600, 86'400)},
      {"scrape",
       [&](const std::string& text) -> std::optional<std::string> {
         if (text != "true" && text != "false") return Quoted(text) + ": give true or false";
         settings.scrape = text == "true";
         return std::nullopt;
       }},
      {"profiles",
       [&](const std::string& text) -> std::optional<std::string> {
         auto table = ProfileTable::With(text);
         if (!table) return table.error().message;
         settings.profile_rows = text;
         settings.profiles = std::make_shared<ProfileTable>(*std::move(table));
         return std::nullopt;
       }},
      {"seccompProfile",
       [&](const std::string& text) -> std::optional<std::string> {
         if (text != "RuntimeDefault" && text != "none") {
           return Quoted(text) + ": give RuntimeDefault or none";
         }
         settings.seccomp_profile = text != "none";
         return std::nullopt;
       }},
  };
}

// The API server refuses a pod whose request exceeds its limit.
void CompareWithLimit(const char* what, const std::string& request, const std::string& limit,
                      Errors& errors) {
  if (*ParseQuantity(limit) == 0) {
    errors.push_back(std::string(what) + "Limit " + limit + ": give more than 0");
    return;
  }
  if (*ParseQuantity(request) <= *ParseQuantity(limit)) return;
  errors.push_back(std::string(what) + "Request " + request + " is above " + what + "Limit " +
                   limit + ": no pod would start");
}

}  // namespace

std::optional<double> ParseQuantity(std::string_view text) {
  static const std::map<std::string_view, double> kSuffixes = {
      {"", 1.0},   {"m", 1e-3},    {"k", 1e3},     {"M", 1e6},     {"G", 1e9},
      {"T", 1e12}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}};
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const std::string digits(text.substr(0, text.find_first_not_of("0123456789.")));
  char* stop = nullptr;
  const double number = std::strtod(digits.c_str(), &stop);
  if (*stop != '\0' || std::isinf(number)) return std::nullopt;
  const auto suffix = kSuffixes.find(text.substr(digits.size()));
  if (suffix == kSuffixes.end()) return std::nullopt;
  return number * suffix->second;
}

ResolvedInjectionSettings ResolveInjectionSettings(const TextMap& data) {
  ResolvedInjectionSettings resolved;
  InjectionSettings& settings = resolved.settings;
  const auto readers = Readers(settings);
  TextMap annotations;
  for (const auto& [key, text] : data) {
    if (key.starts_with(kDefaultPrefix)) {
      const std::string name = key.substr(kDefaultPrefix.size());
      if (text.size() > kLongestDefault) {
        resolved.errors.push_back(key + " is longer than " + std::to_string(kLongestDefault) +
                                  " bytes: what is so long belongs on the pod");
      }
      if (std::ranges::find(kOfOneCluster, name) != std::end(kOfOneCluster)) {
        resolved.errors.push_back(key +
                                  ": whose a cluster is, its master's pod says: annotate that "
                                  "with " +
                                  annotation::kPrefix + name);
      }
      settings.defaults[name] = text;
      annotations[annotation::kPrefix + name] = text;
      continue;
    }
    const auto reader = readers.find(key);
    if (reader == readers.end()) {
      resolved.errors.push_back(Quoted(key) +
                                " is no key of the injection: correct it, or write "
                                "default.SETTING for a setting of the watcher");
    } else if (auto error = reader->second(text)) {
      resolved.errors.push_back(key + ": " + *error);
    }
  }
  if (settings.image.empty() && !data.contains("image")) {
    resolved.errors.push_back("image: give the watcher's image, for example cluster-watcher:0.1.0");
  }
  CompareWithLimit("cpu", settings.cpu_request, settings.cpu_limit, resolved.errors);
  CompareWithLimit("memory", settings.memory_request, settings.memory_limit, resolved.errors);
  for (const std::string& error : AnnotationErrors(annotations, settings.profiles)) {
    resolved.errors.push_back("default of " + error);
  }
  return resolved;
}

}  // namespace cluster_watcher
