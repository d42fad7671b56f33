#include "watcher/protocol/steps.h"

#include <gtest/gtest.h>

#include "probes/base/file.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {
namespace {

std::string ErrorOf(const std::string& text) {
  const auto steps = ParseSteps(text);
  return steps ? "" : steps.error().message;
}

TEST(ParseSteps, TakesAllThatAStepMayHold) {
  const auto steps = ParseSteps(R"([
    {"name": "drain", "http": {"method": "PUT", "url": "http://127.0.0.1:8080/drain?now=1"},
     "timeout": "1m30s", "onFailure": "retry"},
    {"name": "tell", "http": {"url": "https://[::1]:8443"}}])");
  ASSERT_TRUE(steps) << steps.error().message;
  ASSERT_EQ(steps->size(), 2u);
  const Step& drain = steps->at(0);
  EXPECT_EQ(drain.name, "drain");
  EXPECT_EQ(drain.method, HttpMethod::kPut);
  EXPECT_EQ(drain.server, "http://127.0.0.1:8080");
  EXPECT_EQ(drain.target, "/drain?now=1");
  EXPECT_EQ(drain.timeout, std::chrono::seconds(90));
  EXPECT_EQ(drain.on_failure, OnFailure::kRetry);
  const Step& tell = steps->at(1);
  EXPECT_EQ(tell.method, HttpMethod::kPost);
  EXPECT_EQ(tell.server, "https://[::1]:8443");
  EXPECT_EQ(tell.target, "/");
  EXPECT_EQ(tell.timeout, std::chrono::seconds(10));
  EXPECT_EQ(tell.on_failure, OnFailure::kContinue);
  EXPECT_TRUE(ParseSteps("[]"));
  EXPECT_EQ(ParseSteps(R"([{"name":"q","http":{"url":"http://spark:80?stop"}}])")->at(0).target,
            "/?stop");
}

TEST(ParseSteps, TakesWhatTheDocumentShows) {
  const auto document = ReadFile(PROJECT_ROOT "/docs/deletion.md", 1u << 20);
  ASSERT_TRUE(document);
  const std::size_t begin = document->find("```json\n[{\"name\"") + 8;
  const auto steps = ParseSteps(document->substr(begin, document->find("```", begin) - begin));
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_EQ(steps->size(), 2u);
}

TEST(ParseSteps, RefusesWhatIsTooLongBeforeItIsParsed) {
  const std::string most = "[" + std::string(65'534, ' ') + "]";
  EXPECT_EQ(ErrorOf(most), "");
  EXPECT_EQ(ErrorOf(most + " "),
            "its value has 65537 bytes, and at most 65536 are read: shorten it, or take it off");
}

TEST(ParseSteps, SaysWhichStepIsWrongAndWhat) {
  const std::string good = R"({"name":"a","http":{"url":"http://h/"}})";
  EXPECT_EQ(ErrorOf("[" + good + "," + good + "]"),
            "step 2 (\"a\"): another step has that name: rename one");
  struct Case {
    const char* text;
    const char* error;
  };
  for (const Case& one : {
           Case{"", "it is not JSON"},
           Case{"{}", "must be a JSON list"},
           Case{"[1]", "it is not an object"},
           Case{R"([{"http":{"url":"http://h/"}}])", "name must be"},
           Case{R"([{"name":"a\nb","http":{"url":"http://h/"}}])", "name must be"},
           Case{R"([{"name":"a"}])", "http, with a url, is missing"},
           Case{R"([{"name":"a","exec":{},"http":{"url":"http://h/"}}])", "\"exec\" is unknown"},
           Case{R"([{"name":"a","http":{"url":"http://h/","body":"x"}}])", "\"body\" is unknown"},
           Case{R"([{"name":"a","http":{"url":"http://h/","method":"BREW"}}])", "http.method"},
           Case{R"([{"name":"a","http":{"url":"http://h/"},"timeout":"soon"}])", "timeout must"},
           Case{R"([{"name":"a","http":{"url":"http://h/"},"timeout":"0s"}])", "timeout must"},
           Case{R"([{"name":"a","http":{"url":"http://h/"},"timeout":10}])", "timeout must"},
           Case{R"([{"name":"a","http":{"url":"http://h/"},"onFailure":"stop"}])", "onFailure"},
       }) {
    EXPECT_NE(ErrorOf(one.text).find(one.error), std::string::npos)
        << one.text << ": " << ErrorOf(one.text);
  }
  for (const char* url : {"", "h/x", "ftp://h/", "http://", "http:///x", "http://h:0/",
                          "http://h:x/", "http://h:65536/", "http://u:p@h/", "http://u@h:1/",
                          "http://h/ x", "http://h/#a", "http://[::1/", "http://h\\\\x/"}) {
    const std::string text = R"([{"name":"a","http":{"url":")" + std::string(url) + R"("}}])";
    EXPECT_NE(ErrorOf(text).find("http.url must be"), std::string::npos) << url << ErrorOf(text);
  }
}

TEST(ReadSteps, TheFirstObjectThatHasThemCounts) {
  const auto steps = [](const char* name) {
    return R"([{"name":")" + std::string(name) + R"(","http":{"url":"http://h/"}}])";
  };
  ObjectMeta pod, root;
  pod.name = "bob-m-1";
  root.name = "bob-m";
  pod.common.Edit().annotations = {{annotation::kBeforeDelete, steps("of the pod")}};
  root.common.Edit().annotations = {{annotation::kBeforeDelete, steps("of the root")},
                                    {annotation::kAfterDelete, steps("after")}};
  Steps read;
  std::vector<std::string> errors;
  ReadSteps(pod, read, errors);
  ReadSteps(root, read, errors);
  EXPECT_TRUE(errors.empty());
  ASSERT_EQ(read.before.size(), 1u);
  EXPECT_EQ(read.before.front().name, "of the pod");
  ASSERT_EQ(read.after.size(), 1u);

  read = Steps();
  pod.common.Edit().annotations[annotation::kBeforeDelete] = "[]";
  ReadSteps(pod, read, errors);
  ReadSteps(root, read, errors);
  EXPECT_TRUE(read.before.empty()) << "an empty list counts too";

  root.common.Edit().annotations[annotation::kBeforeDelete] = "drain";
  ReadSteps(root, read, errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors.front().find("annotation cluster-watcher/before-delete on bob-m: it is not"),
            0u);
}

}  // namespace
}  // namespace cluster_watcher
