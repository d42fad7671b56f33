#include "probes/kube/object_meta.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "probes/base/json.h"
#include "test/unit/support/objects.h"

namespace cluster_watcher {
namespace {

Result<ObjectMeta> Read(const std::string& text) {
  const auto document = JsonDocument::Parse(text);
  EXPECT_TRUE(document) << text;
  return ReadObjectMeta(document->root());
}

// Complete metadata with these additional fields.
Result<ObjectMeta> ReadWith(const std::string& metadata) {
  return Read(ObjectText(TypeOf("pod"), "lab", "bob", "u1", metadata));
}

TEST(ObjectMeta, ReadsAllOfIt) {
  const auto meta = ReadWith(
      R"("labels":{"a":"b","empty":""},"annotations":{"cluster-watcher/c":"d\n","other/c":"x"},)"
      R"("ownerReferences":[)"
      R"({"apiVersion":"v1","kind":"Node","name":"n","uid":"u2"},)"
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","name":"bob-1",)"
      R"("uid":"u3","controller":true,"blockOwnerDeletion":true}],)"
      R"("deletionTimestamp":"2026-12-24T18:00:00Z","finalizers":["x/y"])");
  ASSERT_TRUE(meta) << meta.error().message;
  EXPECT_EQ(meta->name, "bob");
  EXPECT_EQ(meta->ns(), "lab");
  EXPECT_EQ(meta->uid, "u1");
  EXPECT_EQ(meta->resource_version, "7");
  EXPECT_EQ(meta->Label("a"), "b");
  EXPECT_EQ(meta->Label("empty"), "");
  EXPECT_EQ(meta->Label("c"), std::nullopt);
  EXPECT_EQ(meta->Annotation("cluster-watcher/c"), "d\n");
  EXPECT_EQ(meta->Annotation("a"), std::nullopt);
  EXPECT_EQ(meta->annotations().size(), 1u) << "others' aren't held";
  EXPECT_TRUE(meta->deleting);
  ASSERT_NE(meta->Controller(), nullptr);
  EXPECT_EQ(meta->Controller()->name, "bob-1");
  EXPECT_EQ(meta->Controller()->uid, "u3");
  EXPECT_EQ(meta->Controller()->kind, "ReplicaSet");
  EXPECT_EQ(meta->Controller()->api_version, "apps/v1");
  EXPECT_TRUE(meta->Controller()->block_owner_deletion);
  EXPECT_FALSE(meta->owner_references().front().block_owner_deletion);
}

TEST(ObjectMeta, WhatIsLeftOutIsEmpty) {
  for (const char* more : {"",
                           R"("labels":null,"annotations":null,"ownerReferences":null,)"
                           R"("deletionTimestamp":null)",
                           R"("labels":{},"annotations":{},"ownerReferences":[])"}) {
    const auto meta = ReadWith(more);
    ASSERT_TRUE(meta) << more;
    EXPECT_TRUE(meta->labels().empty() && meta->annotations().empty());
    EXPECT_TRUE(meta->owner_references().empty() && !meta->deleting);
    EXPECT_EQ(meta->Controller(), nullptr);
  }
  const auto cluster_scoped = Read(ObjectText(TypeOf("namespace"), "", "lab", "u1"));
  ASSERT_TRUE(cluster_scoped);
  EXPECT_EQ(cluster_scoped->ns(), "");
}

TEST(ObjectMeta, AReferenceControlsOnlyWhereItSaysSo) {
  for (const char* controller : {"", R"(,"controller":false)", R"(,"controller":null)"}) {
    const auto meta = ReadWith(R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a",)"
                               R"("uid":"u2")" +
                               std::string(controller) + "}]");
    ASSERT_TRUE(meta) << controller;
    EXPECT_EQ(meta->owner_references().size(), 1u);
    EXPECT_EQ(meta->Controller(), nullptr) << controller;
  }
}

TEST(ObjectMeta, WithoutNameUidOrResourceVersionIsAnError) {
  for (const char* text : {"null", "[]", "1", "{}", R"({"metadata":null})", R"({"metadata":[]})"}) {
    EXPECT_FALSE(Read(text)) << text;
  }
  for (const char* metadata :
       {R"("uid":"u","resourceVersion":"1")", R"("name":"a","resourceVersion":"1")",
        R"("name":"a","uid":"u")", R"("name":"","uid":"u","resourceVersion":"1")",
        R"("name":"a","uid":"","resourceVersion":"1")",
        R"("name":"a","uid":"u","resourceVersion":"")",
        R"("name":1,"uid":"u","resourceVersion":"1")",
        R"("name":"a","uid":null,"resourceVersion":"1")",
        R"("name":"a","uid":"u","resourceVersion":1)"}) {
    EXPECT_FALSE(Read(R"({"metadata":{)" + std::string(metadata) + "}}")) << metadata;
  }
  EXPECT_FALSE(ReadObjectMeta(JsonValue()));
}

TEST(ObjectMeta, AFieldOfTheWrongTypeIsAnError) {
  const auto reference = [](const char* more) {
    return R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod",)" + std::string(more) + "}]";
  };
  for (const std::string& more : std::vector<std::string>{
           R"("labels":[])", R"("labels":"a")", R"("labels":{"a":1})", R"("labels":{"a":null})",
           R"("annotations":true)", R"("annotations":{"a":{}})", R"("ownerReferences":{})",
           R"("ownerReferences":[1])", R"("ownerReferences":[{}])", reference(R"("name":"a")"),
           reference(R"("uid":"u")"), reference(R"("name":"a","uid":"u","controller":"true")"),
           reference(R"("name":"a","uid":"u","controller":1)"), R"("deletionTimestamp":false)",
           R"("deletionTimestamp":{})", R"("deletionTimestamp":"")"}) {
    EXPECT_FALSE(ReadWith(more)) << more;
  }
  EXPECT_FALSE(Read(R"({"metadata":{"name":"a","namespace":5,"uid":"u","resourceVersion":"1"}})"));
}

TEST(KubeObject, IsDescribedAsPeopleWriteIt) {
  KubeObject object{TypeOf("deployment"), {}};
  object.meta.name = "bob";
  EXPECT_EQ(object.Describe(), "deployment.apps/bob");
  object.type = TypeOf("pod");
  EXPECT_EQ(object.Describe(), "pod/bob");
}

TEST(ObjectMeta, FinalizersAreReadOfWhatIsDeletedAndMakeItNoOther) {
  EXPECT_EQ(ReadWith(R"("finalizers":["x/y"])")->held_by.names, "");
  const std::string deleting = R"("deletionTimestamp":"2026-12-24T18:00:00Z","finalizers":)";
  const ObjectMeta held = *ReadWith(deleting + R"(["x/y","z"])");
  EXPECT_EQ(held.held_by.names, "x/y, z");
  EXPECT_TRUE(HasOnlyNewStatus(held, *ReadWith(deleting + R"(["z"])")));
  EXPECT_EQ(ReadWith(deleting + "7")->held_by.names, "");
  EXPECT_EQ(ReadWith(deleting + "[\"" + std::string(1'000, 'x') + "\"]")->held_by.names.size(),
            256u);
}

TEST(ObjectMeta, ToldApartFromOneThatHasOnlyANewStatus) {
  const char* before = R"("labels":{"a":"b"},"generation":3,"annotations":{"other/c":"x"})";
  ObjectMeta now = *ReadWith(R"("labels":{"a":"b"},"generation":3,"annotations":{"other/c":"y"})");
  now.resource_version = "8";
  EXPECT_TRUE(HasOnlyNewStatus(*ReadWith(before), now));
  for (const char* changed :
       {R"("labels":{"a":"c"},"generation":3)", R"("labels":{"a":"b"},"generation":4)",
        R"("labels":{"a":"b"},"generation":3,"annotations":{"cluster-watcher/keep":"true"})",
        R"("labels":{"a":"b"},"generation":3,"deletionTimestamp":"2026-12-24T18:00:00Z")",
        R"("labels":{"a":"b"},"generation":3,"ownerReferences":[)"
        R"({"apiVersion":"v1","kind":"Node","name":"n","uid":"u2"}])"}) {
    EXPECT_FALSE(HasOnlyNewStatus(*ReadWith(before), *ReadWith(changed))) << changed;
  }
  now = *ReadWith(before);
  now.uid = "u2";
  EXPECT_FALSE(HasOnlyNewStatus(*ReadWith(before), now));
}

}  // namespace
}  // namespace cluster_watcher
