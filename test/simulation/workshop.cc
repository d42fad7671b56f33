#include "test/simulation/workshop.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <spdlog/sinks/null_sink.h>

namespace cluster_watcher::simulation {

Workshop::Workshop()
    : metrics(registry, "simulated", "simulated"),
      silent(std::make_shared<spdlog::sinks::null_sink_st>()),
      token_file(memfd_create("token", 0)),
      token_path("/proc/self/fd/" + std::to_string(token_file)) {
  if (token_file < 0) {
    std::perror("the token's file");
    std::exit(1);
  }
}

void Workshop::WriteToken(const std::string& token) const {
  if (ftruncate(token_file, 0) != 0 ||
      pwrite(token_file, token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    std::perror("the token's file");
    std::exit(1);
  }
}

ApiServer Workshop::ServerOf(const Plan& plan, const std::string& token) const {
  ApiServer server;
  if (plan.token_rotates) {
    server.token_file = token_path;
  } else {
    server.token = token;
  }
  return server;
}

}  // namespace cluster_watcher::simulation
