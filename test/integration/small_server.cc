#include <condition_variable>
#include <mutex>
#include <thread>

#include "test/integration/server.h"
#include "test/small_kubernetes/http_server.h"
#include "test/small_kubernetes/small_kubernetes.h"

namespace cluster_watcher::integration {
namespace {

using small_kubernetes::HttpServer;
using small_kubernetes::SmallKubernetes;

// Below the system's ephemeral ports, so that a port is still free after a stop.
constexpr int kFirstPort = 20'000;
constexpr int kLastPort = 29'999;
constexpr int kThreads = 256;  // as many connections as ten watchers and their proxies open

class SmallServer final : public Server {
 public:
  SmallServer() : kubernetes_(clock_) { kubernetes_.log_requests = false; }
  ~SmallServer() override { ResumeApi(); }

  Result<Done> Start() {
    Result<Done> started = Failure("no port is free");
    const int offset = static_cast<int>(clock_.WallNow().time_since_epoch().count() % 9973);
    for (int port = kFirstPort + offset; !started && port <= kLastPort; ++port) {
      http_ = std::make_unique<HttpServer>(kubernetes_);
      started = http_->Start(port, kThreads);
    }
    if (!started) return started;
    port_ = http_->Port();
    admin_.url = http_->Url();
    admin_.token = SmallKubernetes::kAdminToken;
    return started;
  }

  const ApiServer& Admin() const override { return admin_; }

  void StopApi() override { http_.reset(); }
  void StartApi() override {
    if (http_ != nullptr) return;
    http_ = std::make_unique<HttpServer>(kubernetes_);
    auto started = http_->Start(port_, kThreads);
    for (int i = 0; i < 100 && !started; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      started = http_->Start(port_, kThreads);
    }
  }

  // The server answers nothing while its lock is held.
  void PauseApi() override {
    bool held = false;
    std::mutex mutex;
    std::condition_variable now_held;
    paused_ = true;
    pause_ = std::thread([&, this] {
      http_->Locked([&, this](SmallKubernetes&) {
        {
          const std::lock_guard lock(mutex);
          held = true;
          now_held.notify_one();
        }
        paused_.wait(true);
      });
    });
    std::unique_lock lock(mutex);
    now_held.wait(lock, [&] { return held; });
  }
  void ResumeApi() override {
    paused_ = false;
    paused_.notify_all();
    if (pause_.joinable()) pause_.join();
  }

  void Revoke(const std::string& token, const std::string&, const std::string&) override {
    http_->Locked([&](SmallKubernetes& kubernetes) { kubernetes.GetTokens().Revoke(token); });
  }

 private:
  SystemClock clock_;
  SmallKubernetes kubernetes_;
  std::unique_ptr<HttpServer> http_;
  int port_ = 0;
  ApiServer admin_;
  std::atomic<bool> paused_{false};
  std::thread pause_;
};

}  // namespace

Result<std::unique_ptr<Server>> StartSmallServer() {
  auto server = std::make_unique<SmallServer>();
  if (auto started = server->Start(); !started) return Failure(started.error().message);
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace cluster_watcher::integration
