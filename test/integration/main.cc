// integration_test --kubernetes=small|real [--control-plane=DIR] [--binary=FILE] [--sanitized]
//                  [--scripts=DIR] [--definitions=DIR] [gtest's flags]
#include <signal.h>

#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

std::optional<Options> ParseArguments(int count, char** arguments) {
  Options options;
  options.scripts = KUBERNETES_SCRIPTS;
  options.definitions = CUSTOM_RESOURCES;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  options.binary = (self.parent_path().parent_path() / "cluster-watcher").string();
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const std::string_view flag = argument.substr(0, argument.find('='));
    const std::string_view value = flag == argument ? "" : argument.substr(flag.size() + 1);
    if (flag == "--kubernetes" && (value == "small" || value == "real")) {
      options.real = value == "real";
    } else if (flag == "--control-plane") {
      options.control_plane = value;
      options.real = true;
    } else if (flag == "--binary") {
      options.binary = value;
    } else if (argument == "--sanitized") {
      options.sanitized = true;
    } else if (flag == "--scripts") {
      options.scripts = value;
    } else if (flag == "--definitions") {
      options.definitions = value;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace
}  // namespace cluster_watcher::integration

int main(int count, char** arguments) {
  using namespace cluster_watcher::integration;
  testing::InitGoogleTest(&count, arguments);
  const auto options = ParseArguments(count, arguments);
  if (!options || !std::filesystem::exists(options->binary)) {
    std::cerr << "Usage: integration_test [--kubernetes=small|real] [--control-plane=DIR] "
                 "[--binary=FILE] [--sanitized] [--scripts=DIR] [--definitions=DIR]\n"
                 "FILE, the program under test, must exist. A real Kubernetes is started, unless "
                 "DIR is that of one that runs.\n";
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  kubernetes = new Kubernetes(*options);
  testing::AddGlobalTestEnvironment(kubernetes);
  return RUN_ALL_TESTS();
}
