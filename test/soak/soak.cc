// POLLS (1000000) polls of one process, on clocks that run 5,000 times as fast
// (quick_watcher.cc): its memory, descriptors and threads must stay, and what a poll costs must not
// multiply. Scrapes go on all the time, the token is rotated a hundred times, and the API server is
// away ten times. Prints a line for each tenth. It is a part of the integration suite in an
// executable of its own, with that suite's options:
//
//   soak --kubernetes=small|real --binary=build/test/quick-watcher
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

constexpr auto kLongest = std::chrono::hours(2);  // for a hundredth
constexpr int kTenths = 10;
constexpr int kSamples = 10;  // of a tenth
// How much more the last tenth may take than the first: memory that isn't released to the system
// comes in pages of pools, and a connection may be open beside others.
constexpr long kMoreKilobytes = 256;
constexpr int kMoreDescriptors = 4;
constexpr double kMoreTime = 2;

double PollsToMake() {
  const char* text = std::getenv("POLLS");
  return text == nullptr ? 1'000'000 : std::max(1'000.0, std::atof(text));
}

struct Sample {
  long kilobytes = 0;
  int descriptors = 0;
  int threads = 0;
};

Sample Look(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  Sample sample;
  std::ifstream status(process + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) sample.kilobytes = std::atol(&line[6]);
    if (line.starts_with("Threads:")) sample.threads = std::atoi(&line[8]);
  }
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(process + "/fd")) {
    ++sample.descriptors;
  }
  return sample;
}

// User and system time so far, in microseconds.
double CpuTime(pid_t pid) {
  const std::string stat = ReadWhole("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// The median of the memory, the most of the rest.
struct Tenth {
  Sample of;
  double cpu_per_poll = 0;
};

class Soak : public IntegrationTest {
 protected:
  void SetUp() override {
    IntegrationTest::SetUp();
    MakeAccount(R"({"metadata": {"name": ")" + std::string(kAccount) +
                R"("}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]})");
    Rotate();
    WriteKubeconfig(kubeconfig(), server().Admin(), "tokenFile: \"" + File("token") + "\"");
    MakeCluster();
    MakeDriver();
  }

  // As the kubelet does it, by a new file. The old one's time is over.
  void Rotate() {
    const std::string old = std::exchange(token_, api().Token(ns_, kAccount));
    WriteWhole(File("token.new"), token_);
    std::filesystem::rename(File("token.new"), File("token"));
    if (!old.empty()) server().Revoke(old, ns_, kAccount);
  }
  // With a connection of its own, as each Prometheus has.
  void Scrape(const Watcher& watcher) {
    ApiServer endpoint;
    endpoint.url = "http://127.0.0.1:" + std::to_string(watcher.Port());
    HttpRequest request;
    request.target = "/metrics";
    const auto transport = *CurlTransport::Create(endpoint);
    const HttpResult answer = std::move(transport->Perform({&request, 1}, 1, {}).front());
    ASSERT_TRUE(answer && answer->status == 200);
  }
  testing::AssertionResult HasMade(Watcher& watcher, double polls, const std::string& outcome) {
    return Eventually([&] { return !watcher.IsRunning() || watcher.Polls(outcome) >= polls; },
                      kLongest);
  }
  void BeAway(Watcher& watcher) {
    const double unknown = watcher.Polls("unknown");
    server().StopApi();
    ASSERT_TRUE(HasMade(watcher, unknown + 1, "unknown"));
    server().StartApi();
    ASSERT_TRUE(HasMade(watcher, watcher.Polls("active") + 1, "active"));
  }

  Tenth Make(Watcher& watcher, double begin, double polls) {
    const double cpu = CpuTime(watcher.Pid()), counted = watcher.Polls();
    std::vector<Sample> samples;
    for (int i = 1; i <= kSamples; ++i) {
      EXPECT_TRUE(HasMade(watcher, begin + polls * i / kSamples, ""));
      samples.push_back(Look(watcher.Pid()));
      Scrape(watcher);
      Rotate();
    }
    BeAway(watcher);
    Tenth tenth;
    for (const Sample& sample : samples) {
      tenth.of.descriptors = std::max(tenth.of.descriptors, sample.descriptors);
      tenth.of.threads = std::max(tenth.of.threads, sample.threads);
    }
    std::nth_element(
        samples.begin(), samples.begin() + kSamples / 2, samples.end(),
        [](const Sample& one, const Sample& other) { return one.kilobytes < other.kilobytes; });
    tenth.of.kilobytes = samples[kSamples / 2].kilobytes;
    tenth.cpu_per_poll = (CpuTime(watcher.Pid()) - cpu) / (watcher.Polls() - counted);
    return tenth;
  }

  std::string token_;
};

TEST_F(Soak, MemoryAndDescriptorsStay) {
  const double polls = PollsToMake();
  Watcher& watcher = Run(
      {"watch", "--kubeconfig=" + kubeconfig(), "--listen=127.0.0.1:0", "--owner=deployment/bob"},
      {"POD_NAMESPACE=" + ns_, "POD_NAME=" + MasterPod(), "QUICKLY=5000"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  // One of each, so that what is made once is there.
  Scrape(watcher);
  BeAway(watcher);
  ASSERT_TRUE(HasMade(watcher, polls / 20, ""));

  std::vector<Tenth> tenths;
  std::printf("  polls to   memory KiB  descriptors  threads  CPU per poll, us\n");
  const double begin = watcher.Polls();
  for (int i = 0; i < kTenths && !HasFailure(); ++i) {
    const Tenth& tenth =
        tenths.emplace_back(Make(watcher, begin + polls * i / kTenths, polls / 10));
    std::printf("%10.0f   %10ld  %11d  %7d  %16.0f\n", watcher.Polls(), tenth.of.kilobytes,
                tenth.of.descriptors, tenth.of.threads, tenth.cpu_per_poll);
    std::fflush(stdout);
  }
  ASSERT_FALSE(HasFailure()) << watcher.Log();
  const Tenth &first = tenths.front(), &last = tenths.back();
  EXPECT_LE(last.of.kilobytes, first.of.kilobytes + kMoreKilobytes) << "memory grows";
  EXPECT_LE(last.of.descriptors, first.of.descriptors + kMoreDescriptors) << "descriptors leak";
  EXPECT_LE(last.of.threads, first.of.threads) << "threads leak";
  EXPECT_LE(last.cpu_per_poll, first.cpu_per_poll * kMoreTime) << "a poll costs ever more";
  EXPECT_GE(watcher.Metric("rest_client_request_retries_total"), 1) << "no token was rotated";
  EXPECT_TRUE(StopsWell(watcher));
}

}  // namespace
}  // namespace cluster_watcher::integration
