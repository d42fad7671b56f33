// What the processes in one thread share. Nothing in it influences their decisions.
#pragma once

#include <string>

#include <prometheus/registry.h>
#include <spdlog/common.h>

#include "metrics/watcher_metrics.h"
#include "probes/kube/token_source.h"
#include "test/simulation/fiber.h"
#include "test/simulation/plan.h"

namespace cluster_watcher::simulation {

struct Workshop {
  Workshop();
  void WriteToken(const std::string& token) const;
  // How processes log in: by the token, or where it rotates by the file that was written last.
  ApiServer ServerOf(const Plan& plan, const std::string& token) const;

  Stacks stacks;
  prometheus::Registry registry;
  WatcherMetrics metrics;  // the program only writes to it
  spdlog::sink_ptr silent;
  int token_file;  // a file in memory
  std::string token_path;
};

}  // namespace cluster_watcher::simulation
