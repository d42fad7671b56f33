#include "watcher/admission/manifest/read_manifests.h"

#include <gtest/gtest.h>

#include <string>

namespace cluster_watcher {
namespace {

// "Kind/name@line" of each object, or the error.
std::string Read(const std::string& text) {
  const auto objects = ReadManifests(text);
  if (!objects) {
    return std::to_string(objects.error().line) + ":" + std::to_string(objects.error().column) +
           ": " + objects.error().message;
  }
  std::string names;
  for (const ManifestObject& object : *objects) {
    const YamlNode* metadata = object.root.Find("metadata");
    names += (names.empty() ? "" : " ") + std::string(object.root.TextAt("kind")) + "/" +
             std::string(metadata == nullptr ? "" : metadata->TextAt("name")) + "@" +
             std::to_string(object.line);
  }
  return names;
}

TEST(ReadManifests, ReadsDocumentsInOrder) {
  EXPECT_EQ(Read("# a comment\nkind: A\nmetadata: {name: x}\n---\n---\nkind: B\n"), "A/x@1 B/@5");
  EXPECT_EQ(Read(R"({"kind":"A","metadata":{"name":"x"}}
{"kind":"B"})"),
            "A/x@1 B/@2");
  EXPECT_EQ(Read("\xef\xbb\xbfkind: A\n"), "A/@1");
  EXPECT_EQ(Read(""), "");
  EXPECT_EQ(Read("# nothing\n---\n"), "");
}

TEST(ReadManifests, TakesListsApart) {
  EXPECT_EQ(Read("kind: List\nitems:\n- kind: A\n- kind: BList\n  items: [{kind: C}]\n"),
            "A/@1 C/@1");
  EXPECT_EQ(Read(R"({"kind":"List","items":[{"kind":"A"}]})"), "A/@1");
}

TEST(ReadManifests, AnErrorHasItsPlace) {
  EXPECT_EQ(Read("kind: A\n---\nkind: [\n").substr(0, 2), "4:");
  EXPECT_EQ(Read("kind: A\n---\njust a text\n"),
            "2:1: it is no object: give manifests, as kubectl takes them");
  EXPECT_EQ(Read("- kind: A\n"), "1:1: it is no object: give manifests, as kubectl takes them");
  EXPECT_EQ(Read("kind: A\nkind: B\n").substr(0, 2), "2:");
  EXPECT_NE(Read("kind: \x01\n"), "A/@1");
}

}  // namespace
}  // namespace cluster_watcher
