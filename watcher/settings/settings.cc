#include "watcher/settings/settings.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/base/printable.h"
#include "probes/base/result.h"
#include "probes/kube/resource_type.h"
#include "watcher/protocol/marks.h"
#include "watcher/settings/setting_table.h"

namespace cluster_watcher {
namespace {

constexpr const char* kProfilesVariable = "CLUSTER_WATCHER_PROFILES";

std::string EnvironmentName(const std::string& setting) {
  std::string name = "CLUSTER_WATCHER_" + setting;
  for (char& c : name) {
    if (c == '-') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

std::string AnnotationName(const std::string& setting) { return annotation::kPrefix + setting; }

// Names the setting in messages, as this source writes it.
std::string Label(const std::string& setting, SettingSource source) {
  switch (source) {
    case SettingSource::kDefault:
      return setting;
    case SettingSource::kAnnotation:
      return "annotation " + AnnotationName(setting);
    case SettingSource::kEnvironment:
      return EnvironmentName(setting);
    case SettingSource::kFlag:
      return "--" + setting;
  }
  return setting;
}

// A value and the place where it was given.
struct Given {
  SettingSource source;
  std::string label;
  std::string text;
};

// Returns the places where `setting` was given, in ascending precedence.
std::vector<Given> WhereGiven(const Setting& setting, const TextMap& flags,
                              const Environment& environment, const TextMap& annotations) {
  const std::string& name = setting.description.name;
  std::vector<Given> given;
  if (const auto found = annotations.find(AnnotationName(name)); found != annotations.end()) {
    const auto source = SettingSource::kAnnotation;
    given.push_back({source, Label(name, source), found->second});
  }
  for (const std::string& variable : {setting.stand_in, EnvironmentName(name)}) {
    if (variable.empty()) continue;
    const std::optional<std::string> text = environment(variable);
    if (text && !text->empty()) given.push_back({SettingSource::kEnvironment, variable, *text});
  }
  if (const auto found = flags.find(name); found != flags.end()) {
    const auto source = SettingSource::kFlag;
    given.push_back({source, Label(name, source), found->second});
  }
  return given;
}

Result<Done> Apply(const Setting& setting, const Given& given, Settings& settings) {
  const std::string& name = setting.description.name;
  if (given.source == SettingSource::kAnnotation) {
    if (!setting.description.from_annotation) {
      return Failure("can't be set by annotation: use --" + name + " or " + EnvironmentName(name));
    }
    if (auto error = annotation::TooLong(given.text)) return Failure(*error);
  }
  return setting.parse(given.text, settings);
}

// A misspelt setting or hold must not be ignored.
void RefuseUnknownAnnotations(const TextMap& annotations, std::vector<std::string>& errors) {
  UnknownAnnotations unknown;
  for (auto at = annotations.lower_bound(std::string_view(annotation::kPrefix));
       at != annotations.end() && at->first.starts_with(annotation::kPrefix); ++at) {
    if (!IsKnownAnnotation(at->first)) unknown.Add(at->first);
  }
  for (std::string& line : unknown.Lines()) errors.push_back(std::move(line));
}

bool SameKind(const KindName& one, const KindName& other) {
  const ResourceType* const type = FindBuiltInByName(one.kind, one.group);
  if (type != nullptr && type == FindBuiltInByName(other.kind, other.group)) return true;
  const bool groups_agree = one.group.empty() || other.group.empty() || one.group == other.group;
  return one.kind == other.kind && groups_agree;
}

SettingSource SourceOf(const ResolvedSettings& resolved, std::string_view name) {
  const auto found = std::find_if(resolved.values.begin(), resolved.values.end(),
                                  [name](const SettingValue& value) { return value.name == name; });
  return found->source;
}

void CheckOwnerKind(ResolvedSettings& resolved) {
  const Settings& settings = resolved.settings;
  if (!settings.owner || settings.owner->IsBare() || settings.owner_kind.empty()) return;
  const KindName written{settings.owner->kind, settings.owner->group};
  if (SameKind(written, SplitKindName(settings.owner_kind))) return;

  const SettingSource owner = SourceOf(resolved, "owner");
  const SettingSource kind = SourceOf(resolved, "owner-kind");
  const bool annotated = owner == SettingSource::kAnnotation || kind == SettingSource::kAnnotation;
  (annotated ? resolved.annotation_errors : resolved.errors)
      .push_back(Label("owner-kind", kind) + ": " + Quoted(settings.owner_kind) + " contradicts " +
                 Label("owner", owner) + " " + Quoted(settings.owner->ToText()) +
                 ": leave it out, it is for an owner without a kind");
}

// The rows that the installation adds, "" if none. They don't change while the program runs.
using Table = Result<std::shared_ptr<const ProfileTable>>;
Table TableWith(const std::string& rows) {
  if (rows.empty()) return BuiltInProfiles();
  static std::map<std::string, std::shared_ptr<const ProfileTable>> tables;
  auto& table = tables[rows];
  if (table) return table;
  auto read = ProfileTable::With(rows);
  if (!read) return Unexpected{std::move(read).error()};
  table = std::make_shared<ProfileTable>(*std::move(read));
  return table;
}

// Finds the framework's words that are given: by the profile's name, or by its label.
void FindWords(Table table, ResolvedSettings& resolved) {
  Settings& settings = resolved.settings;
  if (!table) {
    resolved.rows_error = std::string(kProfilesVariable) + ": " + Printable(table.error().message);
    table = BuiltInProfiles();
  }
  settings.profiles = *std::move(table);
  const std::string& label = settings.cluster_label;
  if (!label.empty()) settings.words = settings.profiles->OfLabel(label);
  if (settings.profile.empty()) return;
  const auto named = settings.profiles->Named(settings.profile);
  std::string problem;
  if (!named) {
    // It may be one that can't be read.
    if (!resolved.rows_error.empty()) return;
    std::string known;
    for (const auto& row : settings.profiles->rows()) {
      known += (known.empty() ? "" : ", ") + row->name;
    }
    problem = Quoted(settings.profile) + " is unknown: give one of " + known;
  } else if (!label.empty() && named->cluster_label != label) {
    problem = settings.profile + " has the cluster label " + named->cluster_label + ", not " +
              label + ": leave out cluster-label";
  }
  if (problem.empty()) {
    settings.words = named;
    return;
  }
  const SettingSource source = SourceOf(resolved, "profile");
  (source == SettingSource::kAnnotation ? resolved.annotation_errors : resolved.errors)
      .push_back(Label("profile", source) + ": " + problem);
}

}  // namespace

const char* ToString(SettingSource source) {
  switch (source) {
    case SettingSource::kDefault:
      return "default";
    case SettingSource::kAnnotation:
      return "annotation";
    case SettingSource::kEnvironment:
      return "environment";
    case SettingSource::kFlag:
      return "flag";
  }
  return "";
}

Environment WithoutOwner(const Environment& environment) {
  return [environment](const std::string& name) {
    const bool is_owners =
        std::any_of(kOwnerSettings.begin(), kOwnerSettings.end(),
                    [&](const char* setting) { return EnvironmentName(setting) == name; });
    return is_owners ? std::nullopt : environment(name);
  };
}

const std::vector<SettingDescription>& SettingDescriptions() {
  static const std::vector<SettingDescription> descriptions = [] {
    std::vector<SettingDescription> all;
    for (const Setting& setting : AllSettings()) all.push_back(setting.description);
    return all;
  }();
  return descriptions;
}

// Claims that are no members are deleted and marked by nobody, whatever was asked for.
static void CheckVolumes(ResolvedSettings& resolved) {
  const Settings& settings = resolved.settings;
  const bool lacks_claims =
      !settings.resources.empty() &&
      std::none_of(settings.resources.begin(), settings.resources.end(), [](const auto& kind) {
        return SplitKindName(kind).kind == "persistentvolumeclaims";
      });
  if (settings.volumes == Volumes::kPreserve || !lacks_claims) return;
  resolved.annotation_errors.emplace_back(
      "volumes asks for claims, which resources leaves out: add persistentvolumeclaims to it");
}

static ResolvedSettings ResolveWith(Table table, const TextMap& flags,
                                    const Environment& environment, const TextMap& annotations) {
  ResolvedSettings resolved;
  for (const Setting& setting : AllSettings()) {
    SettingValue value{setting.description.name, setting.description.default_value};
    // Every value is parsed, so that a mistake shows even before the value that overrides it is
    // removed.
    for (const Given& given : WhereGiven(setting, flags, environment, annotations)) {
      const Result<Done> applied = Apply(setting, given, resolved.settings);
      if (applied) {
        if (value.source != SettingSource::kDefault) {
          value.overridden.push_back({value.value, value.source});
        }
        value.value = given.text;
        value.source = given.source;
      } else {
        auto& errors = given.source == SettingSource::kAnnotation ? resolved.annotation_errors
                                                                  : resolved.errors;
        errors.push_back(given.label + ": " + applied.error().message);
      }
    }
    resolved.values.push_back(std::move(value));
  }
  RefuseUnknownAnnotations(annotations, resolved.annotation_errors);
  FindWords(std::move(table), resolved);
  CheckOwnerKind(resolved);
  CheckVolumes(resolved);
  return resolved;
}

ResolvedSettings ResolveSettings(const TextMap& flags, const Environment& environment,
                                 const TextMap& annotations) {
  return ResolveWith(TableWith(environment(kProfilesVariable).value_or("")), flags, environment,
                     annotations);
}

bool IsKnownAnnotation(std::string_view key) {
  constexpr std::string_view kPrefix = annotation::kPrefix;
  static const std::unordered_set<std::string_view> names = [kPrefix] {
    std::unordered_set<std::string_view> all;
    for (const std::string_view one : annotation::All()) all.insert(one.substr(kPrefix.size()));
    for (const Setting& setting : AllSettings()) all.insert(setting.description.name);
    return all;
  }();
  return (key.starts_with(kPrefix) && names.contains(key.substr(kPrefix.size()))) || IsMark(key);
}

void UnknownAnnotations::Add(std::string_view key) {
  if (named_.size() == kNamed) {
    ++unnamed_;
  } else {
    named_.push_back(Quoted(key));
  }
}

std::vector<std::string> UnknownAnnotations::Lines() const {
  std::vector<std::string> lines;
  for (const std::string& key : named_) {
    lines.push_back("annotation " + key + " is unknown: correct it, or take it off");
  }
  if (unnamed_ > 0) {
    lines.push_back("annotations that are unknown: " + std::to_string(unnamed_) +
                    " more: correct them, or take them off");
  }
  return lines;
}

std::vector<std::string> AnnotationErrors(const TextMap& annotations,
                                          std::shared_ptr<const ProfileTable> profiles) {
  const Environment none = [](const std::string&) { return std::nullopt; };
  return ResolveWith(std::move(profiles), {}, none, annotations).annotation_errors;
}

}  // namespace cluster_watcher
