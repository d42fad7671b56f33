#include <gtest/gtest.h>
#include <unistd.h>

#include "test/integration/api.h"
#include "test/integration/process.h"
#include "test/integration/server.h"

namespace cluster_watcher::integration {
namespace {

constexpr Duration kScriptTimeout = std::chrono::minutes(15);  // where it is built first

Result<Done> RunScript(std::vector<std::string> arguments, const std::string& log) {
  // What the scripts start writes into files of its own.
  std::vector<std::string> environment = OwnEnvironment();
  environment.push_back("WATCH_PID=" + std::to_string(getpid()));
  Process script(arguments, environment, log, log);
  const auto code = script.WaitForExit(kScriptTimeout);
  if (code == 0) return Done{};
  return Failure(arguments.front() + " failed: " + ReadWhole(log));
}

class RealServer final : public Server {
 public:
  RealServer(std::string scripts, std::string directory)
      : scripts_(std::move(scripts)),
        directory_(std::move(directory)),
        log_(directory_ + ".scripts.log") {}
  ~RealServer() override {
    if (auto stopped = RunScript({scripts_ + "/stop", directory_}, log_); !stopped) {
      ADD_FAILURE() << stopped.error().message;
    }
    unlink(log_.c_str());
  }

  Result<Done> Start() {
    auto started = RunScript({scripts_ + "/start", directory_}, log_);
    if (!started) return started;
    auto admin = FindApiServer(directory_ + "/kubeconfig", "",
                               [](const std::string&) { return std::nullopt; });
    if (!admin) return Failure(admin.error().message);
    admin_ = *std::move(admin);
    return Done{};
  }

  const ApiServer& Admin() const override { return admin_; }
  void StopApi() override { Do("stop"); }
  void StartApi() override { Do("start"); }
  void PauseApi() override { Do("pause"); }
  void ResumeApi() override { Do("resume"); }

  // A token is bound to its account's UID; the API server remembers for some seconds that it was
  // good.
  void Revoke(const std::string&, const std::string& ns, const std::string& account) override {
    Api api(admin_);
    api.Delete("serviceaccounts", ns, account);
    api.Create("serviceaccounts", ns, R"({"metadata": {"name": ")" + account + R"("}})");
  }

 private:
  void Do(const std::string& what) {
    auto done = RunScript({scripts_ + "/apiserver", directory_, what}, log_);
    EXPECT_TRUE(done) << done.error().message;
  }

  const std::string scripts_;
  const std::string directory_;
  const std::string log_;
  ApiServer admin_;
};

}  // namespace

Result<std::unique_ptr<Server>> StartRealServer(const std::string& scripts,
                                                const std::string& directory) {
  auto server = std::make_unique<RealServer>(scripts, directory);
  if (auto started = server->Start(); !started) return Failure(started.error().message);
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace cluster_watcher::integration
