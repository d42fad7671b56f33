#include "watcher/observation/next_master.h"

#include <gtest/gtest.h>

#include "test/unit/support/objects.h"
#include "watcher/observation/snapshot.h"

namespace cluster_watcher {
namespace {

WatcherOrders Read(const std::string& pod) {
  const auto document = JsonDocument::Parse(pod);
  EXPECT_TRUE(document) << pod;
  return document ? ReadWatcherOrders(document->root()) : WatcherOrders();
}

// A pod whose own container comes first.
std::string Pod(const std::string& watcher, const std::string& annotations = "") {
  return R"({"metadata":{"annotations":{)" + annotations +
         R"(}},"spec":{"containers":[{"name":"spark","image":"spark","args":["--dry-run"]},{)" +
         watcher + "}]}}";
}

TEST(WatcherOrders, TheOwnerIsTakenFromFlagThenEnvironmentThenAnnotation) {
  const std::string note = R"("cluster-watcher/owner":"deployment/c")";
  const std::string env =
      R"("env":[{"name":"CLUSTER_WATCHER_OWNER","value":"deployment/b"},{"name":"X","value":"x"}])";
  const std::string refers =
      R"("env":[{"name":"CLUSTER_WATCHER_OWNER","valueFrom":{"fieldRef":{"fieldPath":"p"}}}])";
  struct Case {
    std::string watcher;
    std::string annotations;
    std::string owner;
  };
  const std::vector<Case> cases = {
      {R"("name":"w")", "", ""},
      {R"("name":"w")", note, "deployment/c"},
      {R"("name":"w",)" + env, note, "deployment/b"},
      {R"("name":"w","args":["watch","--owner=deployment/a"],)" + env, note, "deployment/a"},
      {R"("name":"w","command":["/cluster-watcher","--owner","deployment/a"])", note,
       "deployment/a"},
      {R"("name":"w","args":["--owner=deployment/z","--owner=deployment/a"])", "", "deployment/a"},
      {R"("name":"w","args":["--owner-kind=job","--owners=x"])", note, "deployment/c"},
      {R"-("name":"w","args":["--owner=job/$(X)-$(Y)"],)-" + env, "", "job/x-$(Y)"},
      {R"("name":"cluster-watcher",)" + refers, note, R"({"fieldRef":{"fieldPath":"p"}})"},
      {R"("name":"w","env":[{"name":"CLUSTER_WATCHER_OWNER","value":""}])", note, "deployment/c"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(Read(Pod(one.watcher, one.annotations)).owner, one.owner) << one.watcher;
  }
}

// 108 kB that would make 200 MB.
TEST(WatcherOrders, WhatReferencesMultiplyIsCutOff) {
  std::string arguments = "--owner=";
  for (int i = 0; i < 2'000; ++i) arguments += "$(A)";
  const WatcherOrders orders =
      Read(Pod(R"("name":"w","args":[")" + arguments + R"("],"env":[{"name":"A","value":")" +
               std::string(100'000, 'a') + "\"}]"));
  EXPECT_EQ(orders.owner, std::string(4'096, 'a'));
}

TEST(WatcherOrders, WhatRefersToAFieldOfThePodIsWhatThatSays) {
  const auto refers = [](const std::string& path) {
    return R"("name":"cluster-watcher","env":[{"name":"CLUSTER_WATCHER_OWNER",)"
           R"("valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":")" +
           path + R"("}}}])";
  };
  const std::pair<const char*, const char*> cases[] = {
      {"metadata.annotations['example.com/driver']", "deployment/bob"},
      {"metadata.labels['driver']", "job/alice"},
      {"metadata.labels['none']", "deployment/c"},
  };
  for (const auto& [path, owner] : cases) {
    const std::string pod =
        R"({"metadata":{"labels":{"driver":"job/alice"},"annotations":)"
        R"({"example.com/driver":"deployment/bob","cluster-watcher/owner":"deployment/c"}},)"
        R"("spec":{"containers":[{)" +
        refers(path) + "}]}}";
    EXPECT_EQ(Read(pod).owner, owner) << path;
  }
}

TEST(WatcherOrders, AreThoseOfTheContainerThatIsNamedSoElseOfOneThatIsAWatcher) {
  const std::string named =
      R"({"spec":{"initContainers":[{"name":"cluster-watcher","args":["--owner=a"]}],)"
      R"("containers":[{"name":"driver","args":["--owner=b"]}]}})";
  EXPECT_EQ(Read(named).owner, "a");
  for (const char* image :
       {"cluster-watcher", "r.io:5000/x/cluster-watcher:1", "cluster-watcher@s", "other"}) {
    const auto orders =
        Read(Pod(R"("name":"w","image":")" + std::string(image) + R"(","args":["--dry-run"])"));
    EXPECT_EQ(orders.dry_run, std::string(image) != "other") << image;
  }
}

TEST(WatcherOrders, HoldEverythingThatMattersToTheNextDriver) {
  const WatcherOrders orders =
      Read(Pod(R"("name":"cluster-watcher","args":["--owner-kind=job","--dry-run=true"],)"
               R"("env":[{"name":"CLUSTER_WATCHER_OWNER_NAMESPACE","value":"other"}])",
               R"("cluster-watcher/inject":"false","cluster-watcher/owner-kind":"pod")"));
  EXPECT_EQ(orders.owner_kind, "job");
  EXPECT_EQ(orders.owner_namespace, "other");
  EXPECT_TRUE(orders.dry_run);
  EXPECT_TRUE(orders.opted_out);
  EXPECT_FALSE(
      Read(Pod(R"("name":"cluster-watcher","args":["--dry-run","--dry-run=false"])")).dry_run);
  EXPECT_FALSE(Read("{}").opted_out);
}

// --- Whether it leads elsewhere.

Snapshot LookOf(const std::string& owner, const WatcherOrders& ours = {}) {
  Snapshot look;
  look.owner_name = *OwnerName::Parse(owner);
  look.owner_ns = "lab";
  look.pod_says.orders = ours;
  return look;
}
Snapshot Saw(Snapshot look, const std::string& kind, const std::string& name) {
  look.seen = RecordedOwner{kind, "lab", name, "u1", std::nullopt, "", "", false};
  return look;
}

TEST(NamesAnotherDriver, ComparesKindNamespaceAndNameAsFarAsBothSayThem) {
  const Snapshot given = LookOf("deployment/bob");
  const Snapshot bare = LookOf("bob");
  const Snapshot found = Saw(bare, "deployment.apps", "bob");
  const Snapshot stands_for = Saw(LookOf("pod/bob-1-x"), "deployment.apps", "bob");
  const Snapshot custom = LookOf("widget.example.com/bob");
  const Snapshot config = LookOf("dc/bob");
  const Snapshot of_config =
      Saw(LookOf("pod/bob-1-x"), "deploymentconfig.apps.openshift.io", "bob");
  struct Case {
    Snapshot look;
    WatcherOrders next;
    bool elsewhere;
  };
  const auto owner = [](const char* text, const char* ns = "", const char* kind = "") {
    WatcherOrders orders;
    orders.owner = text;
    orders.owner_namespace = ns;
    orders.owner_kind = kind;
    return orders;
  };
  const std::vector<Case> cases = {
      {given, owner("deployment/bob"), false},
      {given, owner("deploy.apps/bob"), false},
      {given, owner("bob"), false},
      {given, owner("bob", "", "deployment"), false},
      {given, owner("bob", "lab"), false},
      {given, owner("bob", "other"), true},
      {given, owner("bob", "", "job"), true},
      {given, owner("job/bob"), true},
      {given, owner("deployment.example.com/bob"), true},
      {given, owner("deployment/alice"), true},
      {given, owner("alice"), true},
      {given, owner("///"), true},
      {bare, owner("job/bob"), false},
      {found, owner("deployment/bob"), false},
      {found, owner("job/bob"), true},
      {stands_for, owner("pod/bob-1-x"), false},
      {stands_for, owner("deployment/bob"), false},
      {stands_for, owner("pod/bob-2-y"), true},
      {custom, owner("widget/bob"), false},
      {custom, owner("widget.example.org/bob"), true},
      {config, owner("rc/bob-3"), false},
      {of_config, owner("rc/bob-3"), false},
      {config, owner("deployment/bob-3"), true},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(NamesAnotherDriver(one.look, one.next, "").has_value(), one.elsewhere)
        << one.look.owner_name->ToText() << " " << one.next.owner << " " << one.next.owner_kind;
  }
}

// The pods to come say all that they will say; of a template an admission may add to that.
TEST(NamesAnotherDriver, WhoSaysNoNamespaceMeansItsOwn) {
  Snapshot look = LookOf("deployment/bob");
  look.owner_ns = "drivers";
  WatcherOrders next;
  next.owner = "deployment/bob";
  EXPECT_TRUE(NamesAnotherDriver(look, next, "lab"));
  EXPECT_FALSE(NamesAnotherDriver(look, next, ""));
  look.pod_says.orders = next;
  EXPECT_FALSE(NamesAnotherDriver(look, next, "lab")) << "ours says the same";
}

TEST(LeadsElsewhere, WhereOursSaysTheSameNothingIsNew) {
  WatcherOrders ours;
  ours.owner = "$(OWNER)";  // it can't be told which that is
  ours.dry_run = true;
  ours.opted_out = true;
  EXPECT_EQ(NamesAnotherDriver(LookOf("deployment/bob", ours), ours, "lab"), std::nullopt);
  EXPECT_EQ(LeadsNowhere(LookOf("deployment/bob", ours), ours), std::nullopt);
  EXPECT_EQ(LeadsNowhere(LookOf("deployment/bob"), {}), std::nullopt)
      << "the owner is given elsewhere";
}

TEST(LeadsNowhere, IfItNamesNoOwnerRehearsesOrOptsOut) {
  WatcherOrders ours;
  ours.owner = "deployment/bob";
  const Snapshot look = LookOf("deployment/bob", ours);
  EXPECT_EQ(LeadsNowhere(look, {}), "names no owner");
  EXPECT_EQ(NamesAnotherDriver(look, {}, "lab"), std::nullopt);
  WatcherOrders rehearsal = ours;
  rehearsal.dry_run = true;
  EXPECT_EQ(LeadsNowhere(look, rehearsal), "is for a dry run");
  WatcherOrders without = ours;
  without.opted_out = true;
  EXPECT_EQ(LeadsNowhere(look, without), "has cluster-watcher/inject: \"false\"");
}

}  // namespace
}  // namespace cluster_watcher
