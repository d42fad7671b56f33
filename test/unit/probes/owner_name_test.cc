#include "probes/owner_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

TEST(OwnerName, ReadsWhatKubectlWrites) {
  struct Case {
    std::string text;
    OwnerName owner;
    std::string shown;
  };
  const std::vector<Case> cases = {
      {"bob", {"", "", "bob"}, "bob"},
      {"bob.example-1.com", {"", "", "bob.example-1.com"}, "bob.example-1.com"},
      {"deployment/bob", {"deployment", "", "bob"}, "deployment/bob"},
      {"deploy/bob", {"deploy", "", "bob"}, "deploy/bob"},
      {"deployments/bob", {"deployments", "", "bob"}, "deployments/bob"},
      {"Deployment/bob", {"deployment", "", "bob"}, "deployment/bob"},
      {"deployment.apps/bob", {"deployment", "apps", "bob"}, "deployment.apps/bob"},
      {"Deployment.Apps/bob", {"deployment", "apps", "bob"}, "deployment.apps/bob"},
      {"deployment.v1.apps/bob", {"deployment", "apps", "bob"}, "deployment.apps/bob"},
      {"job.v2beta1.batch/bob", {"job", "batch", "bob"}, "job.batch/bob"},
      {"job.v1alpha12.a.b/bob", {"job", "a.b", "bob"}, "job.a.b/bob"},
      {"job.v1/bob", {"job", "v1", "bob"}, "job.v1/bob"},
      {"job.v1x.b/bob", {"job", "v1x.b", "bob"}, "job.v1x.b/bob"},
      {"job.v1beta.b/bob", {"job", "v1beta.b", "bob"}, "job.v1beta.b/bob"},
      {"job.v.b/bob", {"job", "v.b", "bob"}, "job.v.b/bob"},
      {"rc/bob-1", {"rc", "", "bob-1"}, "rc/bob-1"},
      {"sparkapplication.sparkoperator.k8s.io/pi",
       {"sparkapplication", "sparkoperator.k8s.io", "pi"},
       "sparkapplication.sparkoperator.k8s.io/pi"},
      {"a/0", {"a", "", "0"}, "a/0"},
  };
  for (const Case& one : cases) {
    const Result<OwnerName> owner = OwnerName::Parse(one.text);
    ASSERT_TRUE(owner) << one.text << ": " << owner.error().message;
    EXPECT_EQ(*owner, one.owner) << one.text;
    EXPECT_EQ(owner->ToText(), one.shown);
    EXPECT_EQ(owner->IsBare(), one.owner.kind.empty()) << one.text;
    EXPECT_EQ(*OwnerName::Parse(owner->ToText()), *owner) << one.text;
  }
}

TEST(OwnerName, SaysWhatIsWrongAndHowAnOwnerIsWritten) {
  struct Case {
    std::string text;
    std::string why;
  };
  const std::string kind = "its kind can't be the name of a resource";
  const std::string name = "its name can only hold a-z, 0-9, - and .";
  const std::vector<Case> cases = {
      {"", "\"\" is not an owner: it is empty"},
      {"/", "no kind stands before the slash"},
      {"/bob", "no kind stands before the slash"},
      {"deployment/", "\"deployment/\" is not an owner: no name follows the slash"},
      {"a/b/c", "\"a/b/c\" is not an owner: it has two slashes"},
      {"deployment//bob", "it has two slashes"},
      {" bob", "it holds white space"},
      {"deployment/ bob", "it holds white space"},
      {"bob\n", "\"bob\\n\" is not an owner: it holds white space"},
      {"\t", "\"\\t\" is not an owner: it holds white space"},
      {"Bob", name},
      {"deployment/Bob", name},
      {"bob_1", name},
      {"-bob", name},
      {"bob-", name},
      {".bob", name},
      {"bob.", name},
      {"bo..b", name},
      {"bo.-b", name},
      {"bo-.b", name},
      {"b\"o\\b", "\"b\\\"o\\\\b\" is not an owner"},
      {"b\x1b[31m", "\"b\\x1b[31m\" is not an owner"},
      {"b\xc3\xbc", "\"b\\xc3\\xbc\" is not an owner"},
      {std::string("b\0b", 3), "\"b\\x00b\" is not an owner"},
      {"deploy_ment/bob", kind},
      {"-deployment/bob", kind},
      {"deployment./bob", kind},
      {".apps/bob", kind},
      {"deployment..apps/bob", kind},
      {"deployment.v1./bob", kind},
      {std::string(64, 'k') + "/bob", kind},
      {"deployment/" + std::string(254, 'a'), "its name is longer than 253 characters"},
  };
  for (const Case& one : cases) {
    const Result<OwnerName> owner = OwnerName::Parse(one.text);
    ASSERT_FALSE(owner) << one.text;
    EXPECT_NE(owner.error().message.find(one.why), std::string::npos) << owner.error().message;
    EXPECT_NE(owner.error().message.find("write [KIND[.GROUP]/]NAME"), std::string::npos)
        << owner.error().message;
  }
  EXPECT_TRUE(OwnerName::Parse(std::string(253, 'a')));
  EXPECT_TRUE(OwnerName::Parse(std::string(63, 'k') + "/" + std::string(253, 'a')));
  EXPECT_LT(OwnerName::Parse(std::string(1'000'000, 'A')).error().message.size(), 300u);
}

TEST(Names, KnowLabels) {
  for (const auto& text : {"a", "Abc.d_e-1"}) EXPECT_TRUE(IsLabelValue(text) && IsLabelKey(text));
  for (const auto& text : {"", "-a", "a.", "_", "a b", "Example.com/a", "/a", "a/", "a/b/c"}) {
    EXPECT_FALSE(IsLabelValue(text) || IsLabelKey(text)) << text;
  }
  EXPECT_TRUE(IsLabelKey("example.com/a") && !IsLabelValue("example.com/a"));
  const std::string longest(63, 'a');
  EXPECT_TRUE(IsLabelValue(longest) && IsLabelKey(longest));
  EXPECT_FALSE(IsLabelValue(longest + "a") || IsLabelKey(longest + "a"));
  EXPECT_FALSE(IsLabelKey("example.com/" + longest + "a"));
}

TEST(KindNames, AreShort) {
  std::string versions = "x";
  while (versions.size() < 300'000) versions += ".v1";
  EXPECT_FALSE(IsKindName(versions));
  EXPECT_FALSE(OwnerName::Parse(versions + "/bob"));
  EXPECT_EQ(SplitKindName(versions).group, "v1");
  EXPECT_TRUE(IsKindName("x.v1." + std::string(63, 'a') + ".example.com"));
}

}  // namespace
}  // namespace cluster_watcher
