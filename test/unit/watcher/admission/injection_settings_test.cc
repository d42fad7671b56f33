#include "watcher/admission/injection_settings.h"

#include <gtest/gtest.h>

namespace cluster_watcher {
namespace {

const TextMap kLeast = {{"image", "cluster-watcher:0.1.0"}};

std::vector<std::string> ErrorsWith(const std::string& key, const std::string& value) {
  TextMap data = kLeast;
  data[key] = value;
  return ResolveInjectionSettings(data).errors;
}

TEST(InjectionSettings, HaveDefaults) {
  const auto resolved = ResolveInjectionSettings(kLeast);
  EXPECT_TRUE(resolved.errors.empty());
  const InjectionSettings& settings = resolved.settings;
  EXPECT_EQ(settings.image, "cluster-watcher:0.1.0");
  EXPECT_EQ(settings.image_pull_policy, "IfNotPresent");
  EXPECT_EQ(settings.image_pull_secrets, std::vector<std::string>());
  EXPECT_EQ(settings.port, 9090);
  EXPECT_EQ(settings.token_expiration_seconds, 3600);
  EXPECT_FALSE(settings.scrape);
  EXPECT_TRUE(settings.defaults.empty());
}

TEST(InjectionSettings, TakeEveryKey) {
  const auto resolved = ResolveInjectionSettings({{"image", "watcher@sha256:00"},
                                                  {"imagePullPolicy", "Never"},
                                                  {"imagePullSecrets", "a,b.example"},
                                                  {"port", "9191"},
                                                  {"cpuRequest", "0.25"},
                                                  {"cpuLimit", "1"},
                                                  {"memoryRequest", "16Mi"},
                                                  {"memoryLimit", "1Gi"},
                                                  {"tokenAudience", "api"},
                                                  {"tokenExpirationSeconds", "600"},
                                                  {"scrape", "true"},
                                                  {"seccompProfile", "none"},
                                                  {"default.dry-run", "true"},
                                                  {"default.poll-interval", "10s"}});
  EXPECT_TRUE(resolved.errors.empty()) << resolved.errors.front();
  const InjectionSettings& settings = resolved.settings;
  EXPECT_EQ(settings.image_pull_policy, "Never");
  EXPECT_EQ(settings.image_pull_secrets, (std::vector<std::string>{"a", "b.example"}));
  EXPECT_EQ(settings.port, 9191);
  EXPECT_EQ(settings.cpu_request, "0.25");
  EXPECT_EQ(settings.memory_limit, "1Gi");
  EXPECT_EQ(settings.token_audience, "api");
  EXPECT_EQ(settings.token_expiration_seconds, 600);
  EXPECT_TRUE(settings.scrape);
  EXPECT_FALSE(settings.seccomp_profile);
  EXPECT_EQ(settings.defaults, (TextMap{{"dry-run", "true"}, {"poll-interval", "10s"}}));
}

TEST(InjectionSettings, NameWhatIsWrong) {
  const struct {
    const char* key;
    const char* value;
    const char* message;
  } kCases[] = {
      {"image", "", "image: \"\" is not an image"},
      {"image", "a b", "image: \"a b\" is not an image"},
      {"imagePullPolicy", "always", "give Always, IfNotPresent or Never"},
      {"imagePullSecrets", "a,B", "imagePullSecrets: \"B\" is not a Secret's name"},
      {"imagePullSecrets", "a,,b", "\"\" is not a Secret's name"},
      {"imagePullSecrets", "a,", "\"\" is not a Secret's name"},
      {"imagePullSecrets", "a, b", "\" b\" is not a Secret's name"},
      {"imagePullSecrets", "a,b,a", "\"a\" is there twice"},
      {"port", "80", "give a whole number from 1024 to 65526"},
      {"port", "65527", "give a whole number from 1024 to 65526"},
      {"port", "9090x", "give a whole number"},
      {"cpuRequest", "ten", "cpuRequest: \"ten\" is not a quantity"},
      {"cpuRequest", "-1m", "is not a quantity"},
      {"cpuLimit", "0", "cpuLimit 0: give more than 0"},
      {"memoryRequest", "16MB", "is not a quantity"},
      {"memoryRequest", "1e400", "is not a quantity"},
      {"memoryRequest", "65Mi", "memoryRequest 65Mi is above memoryLimit 64Mi"},
      {"cpuLimit", "9m", "cpuRequest 10m is above cpuLimit 9m"},
      {"tokenExpirationSeconds", "599", "from 600 to 86400"},
      {"scrape", "yes", "give true or false"},
      {"seccompProfile", "", "give RuntimeDefault or none"},
      {"colour", "red", "\"colour\" is no key of the injection"},
      {"default.dry-run", "maybe", "default of annotation cluster-watcher/dry-run"},
      {"default.colour", "red", "default of annotation \"cluster-watcher/colour\""},
  };
  for (const auto& [key, value, message] : kCases) {
    const auto errors = ErrorsWith(key, value);
    ASSERT_EQ(errors.size(), 1u) << key << "=" << value;
    EXPECT_NE(errors[0].find(message), std::string::npos) << errors[0];
  }
  const std::string long_text = "deployment/" + std::string(5'000, 'b');
  const auto too_long = ErrorsWith("default.owner", long_text);
  ASSERT_FALSE(too_long.empty());
  EXPECT_NE(too_long[0].find("default.owner is longer than 4096"), std::string::npos);
  for (const char* key : {"default.owner", "default.owner-kind", "default.owner-namespace"}) {
    const auto of_all = ErrorsWith(key, "job");
    ASSERT_EQ(of_all.size(), 1u) << "sweep would look for the driver elsewhere";
    EXPECT_NE(of_all[0].find("annotate that with cluster-watcher/owner"), std::string::npos);
  }
  ASSERT_EQ(ResolveInjectionSettings({}).errors.size(), 1u);
  EXPECT_NE(ResolveInjectionSettings({}).errors[0].find("image: give"), std::string::npos);
}

TEST(InjectionSettings, ADefaultMayNameAnAddedRow) {
  const std::string rows =
      R"([{"name": "mine", "master": {"role": ["boss"]}, "cluster": "example.com/c"}])";
  TextMap data{{"image", "x"}, {"profiles", rows}, {"default.profile", "mine"}};
  EXPECT_EQ(ResolveInjectionSettings(data).errors, std::vector<std::string>());
  data["default.profile"] = "yours";
  EXPECT_EQ(ResolveInjectionSettings(data).errors.size(), 1u);
}

}  // namespace
}  // namespace cluster_watcher
