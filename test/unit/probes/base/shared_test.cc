#include "probes/base/shared.h"

#include <gtest/gtest.h>

#include <string>

namespace cluster_watcher {
namespace {

using Text = Shared<std::string>;

TEST(Shared, HoldsADefaultValueUntilItIsGivenOne) {
  Text text;
  EXPECT_TRUE(text->empty());
  EXPECT_EQ(text, Text(std::string()));
  text.Edit() = "a";
  EXPECT_EQ(*text, "a");
  EXPECT_TRUE(Text()->empty());
}

TEST(Shared, CopiesShareTheValueUntilOneIsEdited) {
  Text one(std::string("a"));
  Text other = one;
  EXPECT_EQ(&*one, &*other);
  other.Edit() += "b";
  EXPECT_EQ(*one, "a");
  EXPECT_EQ(*other, "ab");
  const std::string* before = &*other;
  EXPECT_EQ(&other.Edit(), before) << "nobody else has it";
}

TEST(Shared, OnlyEqualValuesBecomeOne) {
  const Text one(std::string("a"));
  Text equal(std::string("a"));
  Text other(std::string("b"));
  equal.ShareWith(one);
  EXPECT_EQ(&*equal, &*one);
  other.ShareWith(one);
  EXPECT_EQ(*other, "b");
  EXPECT_FALSE(other == one);
}

}  // namespace
}  // namespace cluster_watcher
