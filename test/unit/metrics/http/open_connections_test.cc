#include "metrics/http/open_connections.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace cluster_watcher {
namespace {

using std::chrono::seconds;
using Sockets = std::vector<int>;

OpenConnections::Time At(int second) { return OpenConnections::Time(seconds(1000 + second)); }

TEST(OpenConnectionsTest, EachHasItsTime) {
  OpenConnections open(4, seconds(10));
  EXPECT_EQ(open.NextDue(), std::nullopt);
  open.Opened(1, "a", At(0));
  open.Opened(2, "b", At(3));
  EXPECT_EQ(open.NextDue(), At(10));
  EXPECT_EQ(open.Due(At(9)), Sockets());
  EXPECT_EQ(open.Due(At(10)), Sockets{1});
  EXPECT_EQ(open.Due(At(11)), Sockets()) << "it was named";
  EXPECT_EQ(open.NextDue(), At(13));
  EXPECT_EQ(open.Due(At(20)), Sockets{2});
  EXPECT_EQ(open.NextDue(), std::nullopt) << "it waits for none that was named";
}

TEST(OpenConnectionsTest, OneThatIsClosedIsNotNamed) {
  OpenConnections open(4, seconds(10));
  const auto* const first = open.Opened(1, "a", At(0));
  open.Opened(2, "a", At(1));
  open.Closed(first);
  EXPECT_EQ(open.NextDue(), At(11));
  EXPECT_EQ(open.Due(At(100)), Sockets{2});
}

struct Case {
  const char* what;
  std::string addresses;  // one letter per connection, which stands for its address
  std::string due;        // the addresses of the connections to close, given 4 places
  Sockets sockets;        // the numbers of those connections
};

TEST(OpenConnectionsTest, OfTooManyTheOldestOfTheGreediestGoes) {
  const std::vector<Case> cases = {
      {"not too many", "aaaa", "", {}},
      {"one address", "aaaaa", "a", {0}},
      {"one address, by far", "aaaaaaa", "aaa", {0, 1, 2}},
      {"who holds many makes room", "gaaab", "a", {1}},
      {"also where it came last", "gbaaa", "a", {2}},
      {"two who hold many", "gaabb", "a", {1}},
      {"two who hold many, in turn", "gbaabba", "baa", {1, 2, 3}},
      {"one each: the oldest", "abcde", "a", {0}},
      {"one each: the oldest two", "abcdef", "ab", {0, 1}},
  };
  for (const Case& one : cases) {
    OpenConnections open(4, seconds(10));
    for (std::size_t i = 0; i < one.addresses.size(); ++i) {
      open.Opened(static_cast<int>(i), one.addresses.substr(i, 1), At(0));
    }
    const Sockets due = open.Due(At(1));
    std::string addresses;
    for (int socket : due) addresses += one.addresses[static_cast<std::size_t>(socket)];
    EXPECT_EQ(addresses, one.due) << one.what;
    EXPECT_EQ(due, one.sockets) << one.what;
    EXPECT_EQ(open.Due(At(1)), Sockets()) << one.what;
  }
}

TEST(OpenConnectionsTest, WhatWasNamedTakesNoPlace) {
  OpenConnections open(2, seconds(10));
  open.Opened(1, "a", At(0));
  open.Opened(2, "a", At(5));
  open.Opened(3, "b", At(5));
  EXPECT_EQ(open.Due(At(10)), Sockets{1});
  open.Opened(4, "a", At(10));
  EXPECT_EQ(open.Due(At(10)), Sockets{2});
}

}  // namespace
}  // namespace cluster_watcher
