// The lab with the tools of whoever reads or writes in the cluster after a look, for one part of a
// deletion at a time.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "test/unit/support/lab.h"
#include "watcher/deletion/tools.h"
#include "watcher/reporting/logging.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class ToolsLab : public testing::Test, protected Lab {
 protected:
  // The tools with the settings as they are now.
  const Tools& MakeTools() {
    in_force_.emplace(settings_, [this](const TextMap&) { return settings_; });
    tools_.emplace(Tools{client_, discovery_, clock_, *in_force_, metrics_, log_.logger(),
                         [this](Duration may_take) {
                           ++turns_;
                           longest_turn_ = std::max(longest_turn_, may_take);
                         }});
    return *tools_;
  }
  // The object of a built-in kind.
  KubeObject ObjectNamed(const std::string& plural, const std::string& name) {
    const ResourceType& type = TypeOf(plural);
    const auto object = JsonDocument::Parse(Read(type.CollectionPath("lab") + "/" + name).body);
    return {type, *ReadObjectMeta(object->root())};
  }
  // A ConfigMap without the cluster's label.
  KubeObject MakeBareMap(const std::string& name, const std::string& more = "") {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" + Meta(name, more) + "}");
    return ObjectNamed("configmaps", name);
  }
  // An entry of ownerReferences.
  static std::string Reference(const KubeObject& owner) {
    return R"({"apiVersion":")" + owner.type->ApiVersion() + R"(","kind":")" + owner.type->kind +
           R"(","name":")" + owner.meta.name + R"(","uid":")" + owner.meta.uid + R"("})";
  }
  static std::string OwnedBy(const KubeObject& owner) {
    return R"(,"ownerReferences":[)" + Reference(owner) + "]";
  }
  void MakeRayCluster(const std::string& name, const std::string& more = "") {
    kubernetes_.Apply(R"({"apiVersion":"ray.io/v1","kind":"RayCluster",)" + Meta(name, more) + "}");
  }
  bool IsLogged(const std::string& text) const {
    return log_text_.str().find(text) != std::string::npos;
  }

  const ClusterId cluster_{"lab", DefaultProfile(), "spark"};
  std::ostringstream log_text_;
  Log log_{LogLevel::kDebug, LogFormat::kText,
           std::make_shared<spdlog::sinks::ostream_sink_st>(log_text_)};
  WarnOnce warn_once_{log_.logger()};
  std::optional<SettingsInForce> in_force_;
  std::optional<Tools> tools_;
  int turns_ = 0;
  Duration longest_turn_{0};
};

}  // namespace cluster_watcher
