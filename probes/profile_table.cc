// Reads the table of profiles from YAML.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <utility>

#include "probes/cluster_labels.h"
#include "probes/profile.h"
#include "probes/profile_rows.h"

namespace cluster_watcher {
namespace {

// Reads one row; nodes may throw YAML::Exception.
class RowReader {
 public:
  explicit RowReader(const YAML::Node& row) : row_(row) {}

  Profile Read() {
    Profile profile;
    RefuseUnknown(row_, "",
                  {"name", "master", "cluster", "members", "root", "template", "inherits",
                   "rollout", "pods", "uses", "theirs"});
    profile.name = Text("name", IsDnsLabel, "a name of a-z, 0-9 and -");
    profile.master = Rule("master");
    if (profile.master.labels.empty()) Mistake("master", "it has no labels, so that all pods fit");
    profile.cluster_label = Text("cluster", IsLabelKey, "a label's key");
    profile.members = Rule("members");
    ReadRoot(profile);
    for (const std::string& path : TextsOf(row_, "template")) {
      if (auto parsed = Path("template", path)) profile.templates.push_back(*std::move(parsed));
    }
    profile.inherits = ValueOf(row_, "inherits", false);
    profile.rollout = When("rollout", TextOf(row_, "rollout"));
    ReadPods(profile);
    ReadUses(profile);
    profile.theirs = ValueOf<std::map<std::string, std::string, std::less<>>>(row_, "theirs");
    return profile;
  }

  const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
  void Mistake(const std::string& field, const std::string& what) {
    mistakes_.push_back(field + ": " + what);
  }

  void RefuseUnknown(const YAML::Node& map, const std::string& of,
                     const std::set<std::string>& known) {
    for (const auto& entry : map) {
      const auto key = entry.first.as<std::string>();
      if (!known.contains(key)) Mistake(of + key, "there is no such field");
    }
  }

  // The value of a field that may be missing. Unlike a fallback of yaml-cpp's own this doesn't hide
  // a value of another type.
  template <typename Value>
  static Value ValueOf(const YAML::Node& map, const std::string& field, Value otherwise = {}) {
    return map[field] ? map[field].as<Value>() : otherwise;
  }
  static std::string TextOf(const YAML::Node& map, const std::string& field) {
    return ValueOf<std::string>(map, field);
  }
  static std::vector<std::string> TextsOf(const YAML::Node& map, const std::string& field) {
    return ValueOf<std::vector<std::string>>(map, field);
  }

  std::string Text(const std::string& field, bool (*fits)(std::string_view),
                   const std::string& form) {
    std::string text = TextOf(row_, field);
    if (!fits(text)) Mistake(field, Quoted(text) + " is not " + form);
    return text;
  }

  LabelRule Rule(const std::string& field) {
    LabelRule rule;
    if (!row_[field]) return rule;
    for (const auto& entry : row_[field]) {
      const auto key = entry.first.as<std::string>();
      auto values = entry.second.as<std::vector<std::string>>();
      if (!IsLabelKey(key)) Mistake(field, Quoted(key) + " is not a label's key");
      for (const std::string& value : values) {
        if (!IsLabelValue(value)) Mistake(field, Quoted(value) + " is not a label's value");
      }
      if (values.empty()) Mistake(field, key + " has no values");
      rule.labels.emplace(key, std::move(values));
    }
    return rule;
  }

  KindName Resource(const YAML::Node& map, const std::string& field) {
    const auto text = TextOf(map, "resource");
    KindName name = SplitKindName(text);
    if (!IsKindName(text) || name.group.empty()) {
      Mistake(field + ".resource", Quoted(text) + " is not PLURAL.GROUP");
    }
    return name;
  }

  void ReadRoot(Profile& profile) {
    const YAML::Node root = row_["root"];
    if (!root) {
      for (const char* of_root : {"template", "inherits", "rollout", "pods", "uses", "theirs"}) {
        if (row_[of_root]) Mistake(of_root, "it is a root's, and there is no root");
      }
      return;
    }
    RefuseUnknown(root, "root.", {"resource", "kind"});
    profile.root = Resource(root, "root");
    profile.root_kind = TextOf(root, "kind");
    if (profile.root_kind.empty()) Mistake("root.kind", "give the resource's kind");
  }

  void ReadPods(Profile& profile) {
    const YAML::Node pods = row_["pods"];
    if (!pods) return;
    RefuseUnknown(pods, "pods.", {"cut", "lower", "fixed", "hash", "random"});
    PodNameForm form;
    form.cut = ValueOf<std::size_t>(pods, "cut", 0);
    form.lower = ValueOf(pods, "lower", false);
    form.hash = ValueOf(pods, "hash", false);
    form.fixed = TextOf(pods, "fixed");
    const auto random = ValueOf<std::string>(pods, "random", "never");
    if (random != "always" && random != "sometimes" && random != "never") {
      Mistake("pods.random", Quoted(random) + ": give always, sometimes or never");
    }
    form.random = random != "never";
    form.may_be_fixed = random != "always";
    profile.pods = std::move(form);
  }

  void ReadUses(Profile& profile) {
    const YAML::Node uses = row_["uses"];
    if (!uses) return;
    RefuseUnknown(uses, "uses.",
                  {"resource", "cluster", "state", "ended", "unless", "itself", "blocks"});
    ProfileUses read;
    read.resource = Resource(uses, "uses");
    if (auto path = PathIn(uses, "cluster")) read.cluster = *std::move(path);
    if (auto path = PathIn(uses, "state")) read.state = *std::move(path);
    read.ended = TextsOf(uses, "ended");
    read.unless = When("uses.unless", TextOf(uses, "unless"));
    if (uses["itself"]) read.itself = PathIn(uses, "itself");
    read.blocks = ValueOf(uses, "blocks", false);
    profile.uses = std::move(read);
  }

  std::optional<FieldPath> PathIn(const YAML::Node& map, const std::string& field) {
    return Path("uses." + field, TextOf(map, field));
  }

  std::optional<CompletedWhen> When(const std::string& field, const std::string& text) {
    if (text.empty()) return std::nullopt;
    auto when = CompletedWhen::Parse(text);
    if (when) return *std::move(when);
    Mistake(field, when.error().message);
    return std::nullopt;
  }

  std::optional<FieldPath> Path(const std::string& field, const std::string& text) {
    auto path = FieldPath::Parse(text);
    if (path) return *std::move(path);
    Mistake(field, Quoted(text) + ": " + path.error().message);
    return std::nullopt;
  }

  const YAML::Node row_;
  std::vector<std::string> mistakes_;
};

Result<std::vector<Profile>> ReadRows(std::string_view text) {
  std::vector<Profile> rows;
  std::string mistakes;
  try {
    const YAML::Node table = YAML::Load(std::string(text));
    if (!table.IsSequence()) return Failure("it is no list of rows");
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::string which = "row " + std::to_string(i + 1);
      if (!table[i].IsMap()) return Failure(which + " is no map");
      RowReader reader(table[i]);
      rows.push_back(reader.Read());
      const std::string& name = rows.back().name;
      for (const std::string& mistake : reader.mistakes()) {
        mistakes += mistakes.empty() ? "" : "; ";
        mistakes += which;
        if (!name.empty()) mistakes.append(" (").append(name).append(")");
        mistakes.append(": ").append(mistake);
      }
    }
  } catch (const YAML::Exception& error) {
    const std::string line =
        error.mark.is_null() ? "" : "line " + std::to_string(error.mark.line + 1) + ": ";
    return Failure(line + error.msg);
  }
  if (!mistakes.empty()) return Failure(mistakes);
  return rows;
}

}  // namespace

const ProfileTable& ProfileTable::BuiltIn() {
  static const ProfileTable table = [] {
    ProfileTable read;
    auto rows = ReadRows(kProfileRows);
    for (Profile& row : *rows) read.rows_.push_back(std::make_shared<Profile>(std::move(row)));
    return read;
  }();
  return table;
}

Result<ProfileTable> ProfileTable::With(std::string_view text) {
  auto rows = ReadRows(text);
  if (!rows) return Unexpected{std::move(rows).error()};
  ProfileTable table = BuiltIn();
  std::set<std::string> given;
  for (Profile& row : *rows) {
    if (!given.insert(row.name).second) return Failure("the name " + row.name + " is given twice");
    if (row.IsDefault() || row.cluster_label == kDefaultClusterLabel) {
      return Failure("the row " + row.name + ": the profile oshinko and its label " +
                     kDefaultClusterLabel +
                     " stay as they are: give it a name and a label of its own");
    }
    const auto same = std::find_if(table.rows_.begin(), table.rows_.end(),
                                   [&](const auto& one) { return one->name == row.name; });
    auto shared = std::make_shared<Profile>(std::move(row));
    if (same == table.rows_.end()) {
      table.rows_.push_back(std::move(shared));
    } else {
      *same = std::move(shared);
    }
  }
  return table;
}

SharedProfile ProfileTable::Named(std::string_view name) const {
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const auto& one) { return one->name == name; });
  return found == rows_.end() ? nullptr : *found;
}

SharedProfile ProfileTable::OfLabel(const std::string& cluster_label) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const auto& one) {
    return one->cluster_label == cluster_label;
  });
  if (found != rows_.end()) return *found;
  Profile labelled = *rows_.front();
  labelled.cluster_label = cluster_label;
  return std::make_shared<Profile>(std::move(labelled));
}

bool ProfileTable::IsMaster(JsonValue metadata) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const SharedProfile& one) {
    return one->master.Holds(metadata) &&
           (one->IsDefault() || metadata["labels"][one->cluster_label].AsString().has_value());
  });
}

Result<SharedProfile> ProfileTable::OfMaster(const ObjectMeta& pod) const {
  for (const bool by_role : {true, false}) {
    SharedProfile found;
    for (const SharedProfile& one : rows_) {
      const LabelRule& rule = by_role ? one->master : one->members;
      if (!rule.Holds(pod) || !pod.Label(one->cluster_label) || one->IsOshinkos(pod)) continue;
      if (found) {
        return Failure("the labels of the pod " + pod.name + " fit the profiles " + found->name +
                       " and " + one->name + ": give one of them by --profile");
      }
      found = one;
    }
    if (found) return found;
  }
  return rows_.front();
}

std::shared_ptr<const ProfileTable> BuiltInProfiles() {
  return {std::shared_ptr<const ProfileTable>(), &ProfileTable::BuiltIn()};
}

SharedProfile DefaultProfile() { return ProfileTable::BuiltIn().rows().front(); }

}  // namespace cluster_watcher
