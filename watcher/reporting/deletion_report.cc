#include "watcher/reporting/deletion_report.h"

#include <algorithm>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kMostClaims = 3;
constexpr std::size_t kMostNamedAsLeft = 20;

}  // namespace

std::string DeletionReport::DeletesText() const {
  std::vector<std::string> counts;
  for (const auto& [result, count] : deletes)
    counts.push_back(std::to_string(count) + " " + result);
  return Joined(counts);
}

std::vector<std::string> DeletionReport::Told() const {
  std::map<std::string, std::vector<std::string>> claims;  // by why they stay
  std::vector<std::string> others;
  for (const std::string& one : left) {
    const std::size_t name = std::min(one.find(": "), one.size());
    const bool is_claim = one.starts_with("persistentvolumeclaim/");
    (is_claim ? claims[one.substr(name)] : others)
        .push_back(one.substr(0, is_claim ? name : one.size()));
  }
  std::vector<std::string> told;
  for (const auto& [why, names] : claims) {
    std::string& text = told.emplace_back(names.front());
    const std::size_t named = std::min(names.size(), kMostClaims);
    for (std::size_t i = 1; i < named; ++i) text += ", " + names[i];
    if (names.size() > named) text += " and " + std::to_string(names.size() - named) + " more";
    text += why;
  }
  told.insert(told.end(), others.begin(), others.end());
  return told;
}

std::string WhatIsLeft(std::vector<std::string> left) {
  if (left.size() > kMostNamedAsLeft) left.resize(kMostNamedAsLeft);
  return left.empty() ? "" : "; left: " + Joined(left);
}

}  // namespace cluster_watcher
