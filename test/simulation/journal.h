// Prints events with their virtual time, for replaying a single history.
#pragma once

#include <cstdio>
#include <string>

#include "test/simulation/timeline.h"

namespace cluster_watcher::simulation {

class Journal {
 public:
  Journal(const Timeline& timeline, bool on) : timeline_(timeline), on_(on) {}

  // Check this before composing a line, because usually nobody reads it.
  bool on() const { return on_; }
  void Line(const std::string& who, const std::string& what) const {
    if (!on_) return;
    const double seconds = static_cast<double>(timeline_.Elapsed().count()) / 1e6;
    std::printf("%11.6f  %-12s %s\n", seconds, who.c_str(), what.c_str());
  }

 private:
  const Timeline& timeline_;
  const bool on_;
};

}  // namespace cluster_watcher::simulation
