// Makes the literals of the admission policies and of the chart's schema from the table of
// profiles, and compares those that stand in the manifests with them: `profile_literals [--write]
// MANIFESTS`.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/profile.h"

namespace cluster_watcher {
namespace {

constexpr const char* kHash = "[bcdfghjklmnpqrstvwxz2456789]";
constexpr const char* kHashLength = "{6,10}";

std::string Json(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts)
    all += (all.empty() ? "" : ",") + JsonWriter().String(text).Text();
  return "[" + all + "]";
}

std::string Json(const LabelRule& rule, const std::string& any) {
  auto labels = rule.labels;
  if (!any.empty()) labels.try_emplace(any, std::vector<std::string>{"*"});
  std::string all;
  for (const auto& [key, values] : labels) {
    all += (all.empty() ? "" : ",") + JsonWriter().String(key).Text() + ":" + Json(values);
  }
  return "{" + all + "}";
}

// "*" stands for any value. Oshinko's masters need no label of a cluster to be asked.
std::string Masters() {
  std::string all;
  for (const auto& row : ProfileTable::BuiltIn().rows()) {
    all += (all.empty() ? "" : ",") + Json(row->master, row->IsDefault() ? "" : row->cluster_label);
  }
  return "[" + all + "]";
}

std::string Clusters() {
  std::string all;
  for (const auto& row : ProfileTable::BuiltIn().rows()) {
    all += (all.empty() ? "" : ",") + Json(row->members, row->cluster_label);
  }
  return "[" + all + "]";
}

std::string Form(const std::string& kind, const std::vector<std::string>& fields) {
  constexpr const char* kNames[] = {"cut", "lower", "fixed", "pattern", "part", "exact"};
  JsonWriter form;
  form.StartObject();
  for (std::size_t i = 0; i < fields.size(); ++i) form.Field(kNames[i], fields[i]);
  return JsonWriter().String(kind).Text() + ":" + form.EndObject().Text();
}

// Matches what the names of the master's pods have behind the name of what made their root, which
// added `added` to it.
std::string PodsOf(const PodNameForm& pods, const std::string& added) {
  std::string text = "^(" + added + ")" + pods.fixed;
  if (pods.hash) text.append("-").append(kHash).append(kHashLength);
  if (pods.random) text.append("(-").append(kHash).append("{5})");
  if (pods.random && pods.may_be_fixed) text += "?";
  return text + "$";
}

// How the pods of a master root are called, by KIND.GROUP.
std::string Forms() {
  const std::string hash = std::string(kHash) + kHashLength;
  const std::string part = std::string(kHash) + "{1,10}";
  std::string all = Form("Deployment.apps", {"0", "", "", hash + "-", part, ""});
  const auto add = [&](const std::string& form) { all += "," + form; };
  add(Form("DeploymentConfig.apps.openshift.io", {"0", "", "", "[0-9]+-", "[0-9]+", ""}));
  add(Form("ReplicaSet.apps", {"0", "", "", "", "", ""}));
  add(Form("ReplicationController.", {"0", "", "", "", "", ""}));
  add(Form("Job.batch", {"0", "", "", "([0-9]+-)?", "[0-9]*", ""}));
  for (const auto& row : ProfileTable::BuiltIn().rows()) {
    if (!row->pods) continue;
    const PodNameForm& pods = *row->pods;
    for (const auto& [kind, added] : row->theirs) {
      add(Form(kind, {"0", pods.lower ? "yes" : "", "", "", "", PodsOf(pods, added)}));
    }
    add(Form(
        row->root_kind + "." + row->root.group,
        {std::to_string(pods.cut), pods.lower ? "yes" : "", pods.fixed, pods.hash ? hash + "-" : "",
         pods.hash ? part : "", pods.may_be_fixed ? (pods.random ? "sometimes" : "always") : ""}));
  }
  return "{" + all + "}";
}

std::string Roots() {
  std::vector<std::string> roots;
  for (const auto& row : ProfileTable::BuiltIn().rows()) {
    if (row->HasRoot()) roots.push_back(row->root_kind + "." + row->root.group);
    for (const auto& [kind, added] : row->theirs) roots.push_back(kind);
  }
  return Json(roots);
}

std::string Names() {
  std::vector<std::string> names;
  for (const auto& row : ProfileTable::BuiltIn().rows()) names.push_back(row->name);
  return Json(names);
}

// What ends before a root can, as PLURAL.GROUP.
std::string Blocking() {
  std::vector<std::string> blocking;
  for (const auto& row : ProfileTable::BuiltIn().rows()) {
    if (row->uses && row->uses->blocks) blocking.push_back(row->uses->resource.ToText());
  }
  return Json(blocking);
}

// Each stands on a line of its own, and begins like no other text of the manifests.
struct Literal {
  std::string begin;
  std::string text;
};

std::string Updated(const std::string& manifest, const std::vector<Literal>& literals,
                    std::size_t& found) {
  std::string updated;
  std::size_t at = 0;
  while (at < manifest.size()) {
    const std::size_t end = std::min(manifest.find('\n', at), manifest.size());
    std::string line = manifest.substr(at, end - at);
    const std::size_t begin = line.find_first_not_of(' ');
    for (const Literal& literal : literals) {
      if (begin == std::string::npos ||
          line.compare(begin, literal.begin.size(), literal.begin) != 0) {
        continue;
      }
      ++found;
      line = line.substr(0, begin) + literal.text + line.substr(line.find_last_of("]}") + 1);
    }
    updated += line + (end < manifest.size() ? "\n" : "");
    at = end + 1;
  }
  return updated;
}

int Run(const std::string& root, bool writes) {
  const std::vector<Literal> literals = {
      {R"([{"oshinko-type":)", Masters()}, {R"([{"oshinko-cluster":)", Clusters()},
      {R"({"Deployment.apps":)", Forms()}, {R"(["RayCluster.ray.io",)", Roots()},
      {R"(["oshinko")", Names()},          {R"(["flinksessionjobs.flink.apache.org")", Blocking()}};
  std::size_t found = 0;
  int wrong = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    const auto kind = file.path().extension();
    if (kind != ".yaml" && kind != ".json") continue;
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string updated = Updated(text, literals, found);
    if (updated == text) continue;
    ++wrong;
    std::cout << file.path().string()
              << (writes ? ": written\n" : ": differs, run scripts/profiles\n");
    if (writes) std::ofstream(file.path()) << updated;
  }
  if (found < literals.size()) {
    std::cout << "only " << found << " literals stand in " << root << "\n";
    return 1;
  }
  return writes ? 0 : wrong;
}

}  // namespace
}  // namespace cluster_watcher

int main(int argc, char** argv) {
  const bool writes = argc > 2 && std::string(argv[1]) == "--write";
  return argc < 2 ? 2 : cluster_watcher::Run(argv[argc - 1], writes);
}
