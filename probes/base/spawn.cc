#include "probes/base/spawn.h"

#include <unistd.h>

namespace cluster_watcher {
namespace {

std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!additions.contains(text.substr(0, text.find('=')))) entries.push_back(text);
  }
  for (const auto& [name, value] : additions) {
    entries.emplace_back(name).append("=").append(value);
  }
  return entries;
}

// Valid as long as `texts` is.
std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

int Spawn(const Spawning& spawning, pid_t* child) {
  std::vector<std::string> arguments = spawning.arguments;
  std::vector<std::string> environment = EnvironmentWith(spawning.environment);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &spawning.defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int group = spawning.leads_group ? POSIX_SPAWN_SETPGROUP : 0;
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  spawning.add_actions(&actions);
  const int error = posix_spawnp(child, spawning.file.c_str(), &actions, &attributes,
                                 Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace cluster_watcher
