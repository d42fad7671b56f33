#include "watcher/admission/manifest/yaml_scalar.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cluster_watcher {
namespace {

using Type = YamlScalar::Type;

TEST(YamlScalar, IsWhatKubectlTakesItFor) {
  struct Case {
    const char* plain;
    Type type;
    const char* text;
  };
  const std::vector<Case> cases = {
      {"", Type::kNull, "null"},
      {"~", Type::kNull, "null"},
      {"NULL", Type::kNull, "null"},
      {"nUll", Type::kString, "nUll"},
      {"yes", Type::kBool, "true"},
      {"Y", Type::kBool, "true"},
      {"On", Type::kBool, "true"},
      {"TRUE", Type::kBool, "true"},
      {"no", Type::kBool, "false"},
      {"n", Type::kBool, "false"},
      {"OFF", Type::kBool, "false"},
      {"tRue", Type::kString, "tRue"},
      {"0", Type::kNumber, "0"},
      {"-0", Type::kNumber, "0"},
      {"+12", Type::kNumber, "12"},
      {"-12", Type::kNumber, "-12"},
      {"0777", Type::kNumber, "511"},
      {"0o17", Type::kNumber, "15"},
      {"-0x1F", Type::kNumber, "-31"},
      {"0b101", Type::kNumber, "5"},
      {"1_000", Type::kNumber, "1000"},
      {"0x", Type::kString, "0x"},
      {"0o8", Type::kString, "0o8"},
      {"08", Type::kNumber, "8"},
      {"9223372036854775807", Type::kNumber, "9223372036854775807"},
      {"-9223372036854775808", Type::kNumber, "-9223372036854775808"},
      {"18446744073709551615", Type::kNumber, "18446744073709551615"},
      {"18446744073709551616", Type::kNumber, "18446744073709551616"},
      {"1234567890123456789012", Type::kNumber, "1234567890123456774144"},
      {"1e3", Type::kNumber, "1000"},
      {"1E+3", Type::kNumber, "1000"},
      {"1.5", Type::kNumber, "1.5"},
      {"1.", Type::kNumber, "1"},
      {".5", Type::kNumber, "0.5"},
      {"-.5e-1", Type::kNumber, "-0.05"},
      {"1e999", Type::kString, "1e999"},
      {"1e", Type::kString, "1e"},
      {".", Type::kString, "."},
      {"-", Type::kString, "-"},
      {"1.2.3", Type::kString, "1.2.3"},
      {"10m", Type::kString, "10m"},
      {"64Mi", Type::kString, "64Mi"},
      {"12:30:45", Type::kString, "12:30:45"},
      {"2001-12-14", Type::kString, "2001-12-14"},
      {"2001-12-14T21:59:43Z", Type::kString, "2001-12-14T21:59:43Z"},
      {".inf", Type::kInfinite, ".inf"},
      {"-.INF", Type::kInfinite, "-.INF"},
      {".NaN", Type::kInfinite, ".NaN"},
      {"<<", Type::kString, "<<"},
      {"é", Type::kString, "é"},
  };
  for (const Case& one : cases) {
    const YamlScalar scalar = ReadPlainScalar(one.plain);
    EXPECT_EQ(scalar.type, one.type) << one.plain;
    EXPECT_EQ(scalar.text, one.text) << one.plain;
  }
}

}  // namespace
}  // namespace cluster_watcher
