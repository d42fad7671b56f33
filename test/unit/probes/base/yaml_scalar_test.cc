#include "probes/base/yaml_scalar.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "test/unit/support/words.h"

namespace cluster_watcher {
namespace {

using Type = YamlScalar::Type;

TEST(YamlScalar, IsWhatKubectlTakesItFor) {
  const std::pair<Type, const char*> cases[] = {
      {Type::kNull, "=null ~=null NULL=null"},
      {Type::kBool, "yes=true Y=true On=true TRUE=true no=false n=false OFF=false"},
      {Type::kNumber,
       "0=0 -0=0 +12=12 -12=-12 0777=511 0o17=15 -0x1F=-31 0b101=5 1_000=1000 08=8 "
       "9223372036854775807=9223372036854775807 -9223372036854775808=-9223372036854775808 "
       "18446744073709551615=18446744073709551615 18446744073709551616=18446744073709551616 "
       "1234567890123456789012=1234567890123456774144 1e3=1000 1E+3=1000 1.5=1.5 1.=1 .5=0.5 "
       "-.5e-1=-0.05"},
      {Type::kInfinite, ".inf=.inf -.INF=-.INF .NaN=.NaN"},
  };
  for (const auto& [type, scalars] : cases) {
    for (const auto& [plain, text] : Pairs(scalars)) {
      const YamlScalar scalar = ReadPlainScalar(plain);
      EXPECT_EQ(scalar.type, type) << plain;
      EXPECT_EQ(scalar.text, text) << plain;
    }
  }
  EXPECT_EQ(ReadPlainScalar(".51_000").type, Type::kNumber) << "as strconv.ParseFloat";
  EXPECT_EQ(ReadPlainScalar(".51_000").text, "0.51");
  for (const std::string& plain :
       Words("nUll tRue 0x 0o8 1e999 1e . - 1.2.3 10m 64Mi 12:30:45 2001-12-14 "
             "2001-12-14T21:59:43Z << é "
             ".5_ ._5 .5__0 .5_e1")) {
    const YamlScalar scalar = ReadPlainScalar(plain);
    EXPECT_EQ(scalar.type, Type::kString) << plain;
    EXPECT_EQ(scalar.text, plain);
  }
}

}  // namespace
}  // namespace cluster_watcher
