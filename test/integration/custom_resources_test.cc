// The definitions of custom kinds that the tests use: both API servers accept them alike.
#include <algorithm>
#include <filesystem>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

using CustomResources = IntegrationTest;

constexpr char kDefinitions[] = "customresourcedefinitions";

std::vector<std::string> AllKinds() {
  std::vector<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(kubernetes->GetOptions().definitions)) {
    names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_F(CustomResources, AreServedAsTheyAreDefined) {
  const std::vector<std::string> names = AllKinds();
  EXPECT_GE(names.size(), 11u);
  // Installs all of them first: a real server delays creating objects of a new kind by two seconds.
  for (const std::string& name : names) {
    InstallKind(name);
    InstallKind(name);
  }
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string plural = name.substr(0, name.find('.'));
    const CustomKind* kind = FindCustomKind(plural);
    ASSERT_NE(kind, nullptr);
    EXPECT_EQ(kind->type.QualifiedName(), name);
    const std::string uid = api().Create(plural, ns_, CustomOf({"bob"}, R"({"suspend": true})"));
    EXPECT_EQ(api().Uid(plural, ns_, "bob"), uid);
    api().SetStatus(plural, ns_, "bob", R"({"phase": "Running"})");
    const auto object = api().Get(plural, ns_, "bob");
    ASSERT_TRUE(object);
    EXPECT_EQ(object->root()["apiVersion"].AsString(), kind->type.ApiVersion());
    EXPECT_EQ(object->root()["status"]["phase"].AsString(), "Running");
    // A change of a status subresource doesn't raise the generation.
    EXPECT_EQ(object->root()["metadata"]["generation"].AsInteger(), kind->has_status ? 1 : 2);
    const HttpResult scale = api().Do(HttpMethod::kGet, PathOf(plural, ns_, "bob/scale"));
    ASSERT_TRUE(scale);
    if (!kind->has_scale) {
      EXPECT_EQ(scale->status, 404);
      EXPECT_NE(scale->body.find(R"("name":"bob")"), std::string::npos) << scale->body;
      continue;
    }
    // The field that the scale shows is missing.
    EXPECT_EQ(scale->status, 500) << scale->body;
    api().Patch(plural, ns_, "bob/scale", R"({"spec": {"replicas": 3}})");
    const JsonDocument scaled = api().Expect(HttpMethod::kGet, PathOf(plural, ns_, "bob/scale"));
    EXPECT_EQ(scaled.root()["spec"]["replicas"].AsInteger(), 3);
    EXPECT_EQ(scaled.root()["status"]["replicas"].AsInteger(), 0);
  }
}

TEST_F(CustomResources, ScaleShowsTheFieldsThatAreDefinedForIt) {
  InstallKind("widgets.example.com");
  api().Create("widgets", ns_, CustomOf({"bob"}, R"({"size": 2})"));
  api().SetStatus("widgets", ns_, "bob", R"({"size": 1})");
  const std::string path = PathOf("widgets", ns_, "bob/scale");
  const JsonDocument before = api().Expect(HttpMethod::kGet, path);
  EXPECT_EQ(before.root()["spec"]["replicas"].AsInteger(), 2);
  EXPECT_EQ(before.root()["status"]["replicas"].AsInteger(), 1);
  api().Patch("widgets", ns_, "bob", R"({"spec": {"size": 0}})");
  const JsonDocument after = api().Expect(HttpMethod::kGet, path);
  EXPECT_FALSE(after.root()["spec"]["replicas"].Exists());
  EXPECT_EQ(after.root()["status"]["replicas"].AsInteger(), 1);
  const HttpResult refused = api().Do(HttpMethod::kPatch, path, R"({"spec": {"replicas": -1}})",
                                      "application/merge-patch+json");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 422) << refused->body;
}

TEST_F(CustomResources, HoldOnlyWhatTheirSchemaHas) {
  InstallKind("daskclusters.kubernetes.dask.org");
  api().Create("daskclusters", ns_, CustomOf({"bob"}, R"({"worker": {}, "x": {"y": 1}})"));
  api().SetStatus("daskclusters", ns_, "bob", R"({"phase": "Running", "replicas": 7})");
  const auto object = api().Get("daskclusters", ns_, "bob");
  ASSERT_TRUE(object);
  const JsonValue root = object->root();
  EXPECT_EQ(root["spec"]["worker"]["replicas"].AsInteger(), 1);
  EXPECT_EQ(root["spec"]["x"]["y"].AsInteger(), 1);
  EXPECT_FALSE(root["status"]["replicas"].Exists());
}

TEST_F(CustomResources, AreServedInEveryVersion) {
  InstallKind("rayjobs.ray.io");
  api().Create("rayjobs", ns_, CustomOf({"bob"}, R"({"suspend": true})"));
  const JsonDocument older =
      api().Expect(HttpMethod::kGet, "/apis/ray.io/v1alpha1/namespaces/" + ns_ + "/rayjobs/bob");
  EXPECT_EQ(older.root()["apiVersion"].AsString(), "ray.io/v1alpha1");
  EXPECT_EQ(older.root()["spec"]["suspend"].AsBool(), true);
  const JsonDocument group = api().Expect(HttpMethod::kGet, "/apis/ray.io");
  EXPECT_EQ(group.root()["preferredVersion"]["version"].AsString(), "v1");
}

TEST_F(CustomResources, GoWithTheirDefinition) {
  InstallKind("gadgets.example.com");
  const ResourceType kind = FindCustomKind("gadgets")->type;
  const std::string path = PathOf("gadgets", ns_);
  Metadata held{"held"};
  held.held = true;
  api().Create("gadgets", ns_, CustomOf(held));
  api().Create("gadgets", ns_, CustomOf({"free"}));
  api().Delete(kDefinitions, "", "gadgets.example.com");

  // An object that is held holds its kind as well.
  EXPECT_TRUE(
      Eventually([&] { return api().Names("gadgets", ns_) == std::vector<std::string>{"held"}; }));
  EXPECT_TRUE(Eventually([&] {
    const HttpResult offer = api().Do(HttpMethod::kGet, "/apis/" + kind.ApiVersion());
    return offer && offer->body.find(R"(["delete","deletecollection","get","list","watch"])") !=
                        std::string::npos;
  }));
  const HttpResult refused = api().Do(
      HttpMethod::kPost, path,
      R"({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "new"}})");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 403) << refused->body;
  const HttpResult again =
      api().Do(HttpMethod::kPost, PathOf(kDefinitions, ""),
               ReadWhole(kubernetes->GetOptions().definitions + "/gadgets.example.com.json"));
  ASSERT_TRUE(again);
  EXPECT_NE(again->body.find("object is being deleted"), std::string::npos) << again->body;

  // The object is gone before its kind is.
  api().ReleaseFinalizers("gadgets", ns_, "held");
  const HttpResult missing = api().Do(HttpMethod::kGet, path + "/held");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->status, 404) << missing->body;
  EXPECT_NE(missing->body.find(R"("name":"held")"), std::string::npos) << missing->body;
  RemoveKind("gadgets.example.com");
  const HttpResult gone = api().Do(HttpMethod::kGet, path);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->status, 404);
  EXPECT_EQ(gone->body, "404 page not found\n");

  InstallKind("gadgets.example.com");
  EXPECT_TRUE(api().Names("gadgets", ns_).empty());
}

}  // namespace
}  // namespace cluster_watcher::integration
