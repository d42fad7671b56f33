// The outcome of one check of the installation, for people and for programs.
#pragma once

#include <string>
#include <utility>

#include "watcher/driver/outcome.h"

namespace cluster_watcher {

struct Finding {
  enum class State { kOk, kWarning, kError };

  State state = State::kOk;
  std::string text;         // says what is there, or what is wrong with it
  std::string remedy = {};  // says what to do; empty where all is well

  static Finding Ok(std::string text) { return {State::kOk, std::move(text)}; }
  static Finding Warning(std::string text, std::string remedy) {
    return {State::kWarning, std::move(text), std::move(remedy)};
  }
  static Finding Error(std::string text, std::string remedy) {
    return {State::kError, std::move(text), std::move(remedy)};
  }
  // A warning, since what can't be read may be there or not. The remedy names the right that lacks.
  static Finding Unknown(const std::string& subject, const ApiError& error) {
    const std::string rule = RuleThatLacks(error);
    return Warning(subject + " not known: " + error.message,
                   rule.empty() ? "look again once this is answered" : rule);
  }
};

}  // namespace cluster_watcher
