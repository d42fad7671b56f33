#include "watcher/deletion/uid.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>
#include <vector>

namespace cluster_watcher {
namespace {

constexpr char kUuid[] = "0fd2a8e1-93b4-4c56-8a7d-fedcba987650";

TEST(Uid, NoTwoTextsAreTheSame) {
  std::vector<std::string> texts = {"", "x", "00000000-0000-0000-0000-000000000000", kUuid};
  const std::string uuid = kUuid;
  for (std::size_t at = 0; at < uuid.size(); ++at) {
    for (const char c : std::string("-A\0 f", 5)) {
      std::string other = uuid;
      other[at] = c;
      if (other != uuid) texts.push_back(other);
    }
  }
  texts.push_back(uuid + "0");
  texts.push_back(uuid.substr(1));
  std::unordered_set<Uid> uids;
  for (const std::string& text : texts) {
    EXPECT_EQ(Uid(text).ToText(), text);
    EXPECT_EQ(Uid(text), Uid(text));
    EXPECT_EQ(std::hash<Uid>()(text), std::hash<Uid>()(text));
    EXPECT_TRUE(uids.insert(text).second) << text;
  }
  for (const std::string& text : texts) EXPECT_TRUE(uids.contains(text)) << text;
}

}  // namespace
}  // namespace cluster_watcher
