// The settings that hold: those of flags and environment from the start, and those of the pod's
// annotations too once the pod was read.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "watcher/settings/settings.h"

namespace cluster_watcher {

class SettingsInForce {
 public:
  using WithAnnotations = std::function<ResolvedSettings(const TextMap& annotations)>;

  // `at_start`: without annotations; `with_annotations` resolves them all again with those.
  SettingsInForce(ResolvedSettings at_start, WithAnnotations with_annotations)
      : resolved_(std::move(at_start)), with_annotations_(std::move(with_annotations)) {}
  SettingsInForce(const SettingsInForce&) = delete;
  SettingsInForce& operator=(const SettingsInForce&) = delete;

  const Settings& operator*() const { return resolved_.settings; }
  const Settings* operator->() const { return &resolved_.settings; }
  // With where each came from, and what is wrong.
  const ResolvedSettings& resolved() const { return resolved_; }

  // Finds what is wrong with these annotations, which don't come into force.
  std::vector<std::string> ErrorsIn(const TextMap& annotations) const {
    return with_annotations_(annotations).annotation_errors;
  }
  void TakeAnnotations(const TextMap& annotations) { resolved_ = with_annotations_(annotations); }

  // The same settings of a cluster that is looked at from outside of its pods: which one it is no
  // annotation of theirs says.
  static WithAnnotations About(const ClusterId& cluster, WithAnnotations with_annotations) {
    return [cluster, with = std::move(with_annotations)](const TextMap& annotations) {
      ResolvedSettings resolved = with(annotations);
      resolved.settings.ns = cluster.ns;
      resolved.settings.words = cluster.profile;
      resolved.settings.cluster = cluster.name;
      resolved.settings.pod.clear();
      return resolved;
    };
  }

 private:
  ResolvedSettings resolved_;
  WithAnnotations with_annotations_;
};

}  // namespace cluster_watcher
