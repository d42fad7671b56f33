#include <gtest/gtest.h>
#include <unistd.h>

#include "test/integration/api.h"
#include "test/integration/fixture.h"
#include "test/integration/objects.h"
#include "test/integration/process.h"
#include "test/integration/server.h"

namespace cluster_watcher::integration {
namespace {

constexpr Duration kScriptTimeout = std::chrono::minutes(15);  // it may have to be built first

Result<Done> RunScript(std::vector<std::string> arguments, const std::string& log) {
  // Processes that the scripts start log to files of their own.
  std::vector<std::string> environment = OwnEnvironment();
  environment.push_back("WATCH_PID=" + std::to_string(getpid()));
  Process script(arguments, environment, log, log);
  const auto code = script.WaitForExit(kScriptTimeout);
  if (code == 0) return Done{};
  return Failure(arguments.front() + " failed: " + ReadWhole(log));
}

class SharedServer : public Server {
 public:
  explicit SharedServer(std::string directory) : directory_(std::move(directory)) {}

  Result<Done> Join() {
    auto admin = FindApiServer(directory_ + "/kubeconfig", "",
                               [](const std::string&) { return std::nullopt; });
    if (!admin) return Failure(admin.error().message);
    admin_ = *std::move(admin);
    return Done{};
  }

  const ApiServer& Admin() const override { return admin_; }
  void StopApi() override { Refuse(); }
  void StartApi() override { Refuse(); }
  void PauseApi() override { Refuse(); }
  void ResumeApi() override { Refuse(); }

  // A token is bound to its account's UID; the API server remembers for some seconds that the token
  // was valid.
  void Revoke(const std::string&, const std::string& ns, const std::string& account) override {
    Api api(admin_);
    api.Delete("serviceaccounts", ns, account);
    api.Create("serviceaccounts", ns, R"({"metadata": {"name": ")" + account + R"("}})");
  }

 protected:
  const std::string directory_;

 private:
  static void Refuse() { ADD_FAILURE() << "others use this API server"; }

  ApiServer admin_;
};

class RealServer final : public SharedServer {
 public:
  RealServer(std::string scripts, std::string directory)
      : SharedServer(std::move(directory)),
        scripts_(std::move(scripts)),
        log_(directory_ + ".scripts.log") {}
  ~RealServer() override {
    if (auto stopped = RunScript({scripts_ + "/stop", directory_}, log_); !stopped) {
      ADD_FAILURE() << stopped.error().message;
    }
    unlink(log_.c_str());
  }

  Result<Done> Start() {
    auto started = RunScript({scripts_ + "/start", directory_}, log_);
    return started ? Join() : started;
  }

  void StopApi() override { Do("stop"); }
  void StartApi() override {
    Do("start");
    AwaitControllers();
  }
  void PauseApi() override { Do("pause"); }
  void ResumeApi() override { Do("resume"); }

 private:
  // The controllers take up to half a minute to notice that the API server is back.
  void AwaitControllers() {
    Api api(Admin());
    const auto pods = [&] { return api.Names("pods", "default", "app=probe").size(); };
    const auto patience = std::chrono::minutes(2);
    api.Create("deployments", "default", DeploymentOf({{"probe"}}));
    EXPECT_TRUE(Eventually([&] { return pods() == 1; }, patience)) << "no controller makes pods";
    api.Delete("deployments", "default", "probe");
    EXPECT_TRUE(Eventually([&] { return pods() == 0; }, patience)) << "nor does one collect them";
  }
  void Do(const std::string& what) {
    auto done = RunScript({scripts_ + "/apiserver", directory_, what}, log_);
    EXPECT_TRUE(done) << done.error().message;
  }

  const std::string scripts_;
  const std::string log_;
};

}  // namespace

Result<std::unique_ptr<Server>> StartRealServer(const std::string& scripts,
                                                const std::string& directory) {
  auto server = std::make_unique<RealServer>(scripts, directory);
  if (auto started = server->Start(); !started) return Failure(started.error().message);
  return std::unique_ptr<Server>(std::move(server));
}

Result<std::unique_ptr<Server>> JoinRealServer(const std::string& directory) {
  auto server = std::make_unique<SharedServer>(directory);
  if (auto joined = server->Join(); !joined) return Failure(joined.error().message);
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace cluster_watcher::integration
