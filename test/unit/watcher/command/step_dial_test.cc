#include "watcher/command/step_dial.h"

#include <gtest/gtest.h>

#include "test/unit/support/temporary_directory.h"
#include "test/unit/support/tls_server.h"

namespace cluster_watcher {
namespace {

// A server that "one" proves; "two" is another authority.
class StepDial : public testing::Test {
 protected:
  StepDial() : server_((Make("one"), Make("two"), Arguments())) {}

  // "200", or why there is no answer.
  std::string Ask(const Dial& dial) {
    const auto transport = dial("https://" + server_.address());
    if (!transport) return transport.error().message;
    HttpRequest request;
    request.target = "/";
    request.accept = "*/*";
    request.timeout = Duration(20'000);
    const HttpResult answer =
        std::move((*transport)->Perform(std::span(&request, 1), 1, {}).front());
    if (answer) return std::to_string(answer->status);
    return answer.error().kind == TransportError::Kind::kTls ? "tls" : answer.error().message;
  }
  std::string Pem(const std::string& name) const { return directory_.Read(name + ".crt"); }

  const TemporaryDirectory directory_;
  const std::string nowhere_ = directory_.Path("nowhere");

 private:
  void Make(const std::string& name) const {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 "
        "-subj /CN=" +
        name + " -addext subjectAltName=IP:127.0.0.1 -keyout " + directory_.Path(name + ".key") +
        " -out " + directory_.Path(name + ".crt") + " 2>/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::vector<std::string> Arguments() const {
    return {"-www", "-cert", directory_.Path("one.crt"), "-key", directory_.Path("one.key")};
  }

  TlsServer server_;
};

TEST_F(StepDial, TrustsTheAuthoritiesOfTheClusterAndOfTheSystem) {
  ApiServer right;
  right.ca_pem = Pem("one");
  ApiServer wrong;
  wrong.ca_pem = Pem("two");
  EXPECT_EQ(Ask(DialSteps(right, nowhere_, StepsAt::kMaster)), "200");
  EXPECT_EQ(Ask(DialSteps(right, directory_.Path("two.crt"), StepsAt::kMaster)), "200");
  EXPECT_EQ(Ask(DialSteps(wrong, directory_.Path("one.crt"), StepsAt::kMaster)), "200");
  EXPECT_EQ(Ask(DialSteps({}, directory_.Path("one.crt"), StepsAt::kMaster)), "200");
  EXPECT_EQ(Ask(DialSteps(wrong, nowhere_, StepsAt::kMaster)), "tls");
  EXPECT_EQ(Ask(DialSteps(wrong, directory_.Path("two.crt"), StepsAt::kMaster)), "tls");
  EXPECT_EQ(Ask(DialSteps({}, nowhere_, StepsAt::kMaster)), "tls");
}

TEST_F(StepDial, VerifiesAlsoWhereTheApiServerIsNot) {
  ApiServer cluster;
  cluster.insecure_skip_tls_verify = true;
  EXPECT_EQ(Ask(DialSteps(cluster, nowhere_, StepsAt::kMaster)), "tls");
}

TEST_F(StepDial, ReachesNothingOfItsOwnMachineOutsideOfTheMaster) {
  ApiServer right;
  right.ca_pem = Pem("one");
  EXPECT_NE(Ask(DialSteps(right, nowhere_, StepsAt::kElsewhere)).find("one of this machine"),
            std::string::npos);
}

TEST_F(StepDial, TrustsAnAuthorityThatIsRotated) {
  ApiServer cluster;
  cluster.ca_file = directory_.Write("ca.crt", Pem("two"));
  cluster.ca_pem = Pem("two");
  const Dial dial = DialSteps(cluster, nowhere_, StepsAt::kMaster);
  EXPECT_EQ(Ask(dial), "tls");
  directory_.Write("ca.crt", Pem("one"));
  EXPECT_EQ(Ask(dial), "200");
}

}  // namespace
}  // namespace cluster_watcher
