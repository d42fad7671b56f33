#include "watcher/command/manifest_file.h"

#include <gtest/gtest.h>

#include "probes/base/names.h"
#include "test/unit/support/temporary_directory.h"

namespace cluster_watcher {
namespace {

TEST(ManifestFiles, OfADirectoryThoseAreReadThatKubectlReads) {
  const TemporaryDirectory directory;
  const std::string first = directory.Write("0.txt", "0");
  directory.Write("more/b.yml", "b");
  directory.Write("more/a.json", "a");
  directory.Write("more/notes.md", "n");
  directory.Write("more/below/c.yaml", "c");
  std::vector<std::string> errors;
  std::string texts;
  for (const ManifestFile& file : ReadManifestFiles({first, directory.Path("more")}, errors)) {
    texts += file.text;
  }
  EXPECT_EQ(texts, "0ab");
  EXPECT_TRUE(errors.empty()) << Joined(errors);
}

TEST(ManifestFiles, WhatCanNotBeReadIsNamed) {
  const TemporaryDirectory directory;
  std::vector<std::string> errors;
  EXPECT_TRUE(ReadManifestFiles({directory.Path(), "/none"}, errors).empty());
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0], directory.Path() + " has no files that end with .yaml, .yml or .json");
  EXPECT_NE(errors[1].find("/none can't be read"), std::string::npos) << errors[1];
}

}  // namespace
}  // namespace cluster_watcher
