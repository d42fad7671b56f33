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
  const auto& request = std::get<StepRequest>(drain.what);
  EXPECT_EQ(request.method, HttpMethod::kPut);
  EXPECT_EQ(request.server, "http://127.0.0.1:8080");
  EXPECT_EQ(request.target, "/drain?now=1");
  EXPECT_EQ(drain.timeout, std::chrono::seconds(90));
  EXPECT_EQ(drain.on_failure, OnFailure::kRetry);
  const Step& tell = steps->at(1);
  const auto& post = std::get<StepRequest>(tell.what);
  EXPECT_EQ(post.method, HttpMethod::kPost);
  EXPECT_EQ(post.server, "https://[::1]:8443");
  EXPECT_EQ(post.target, "/");
  EXPECT_EQ(tell.timeout, std::chrono::seconds(10));
  EXPECT_EQ(tell.on_failure, OnFailure::kContinue);
  EXPECT_TRUE(ParseSteps("[]"));
  const auto query = ParseSteps(R"([{"name":"q","http":{"url":"http://spark:80?stop"}}])");
  EXPECT_EQ(std::get<StepRequest>(query->at(0).what).target, "/?stop");
}

TEST(ParseSteps, TakesAllThatAPodMayHold) {
  const auto steps = ParseSteps(R"([
    {"name": "save", "image": "books:1", "command": ["save", "--all"],
     "env": [{"name": "TO", "value": "a b"}], "timeout": "1m", "onFailure": "retry"},
    {"name": "tell", "image": "books:1"}])");
  ASSERT_TRUE(steps) << steps.error().message;
  ASSERT_EQ(steps->size(), 2u);
  const auto& save = std::get<PodToRun>(steps->at(0).what);
  EXPECT_EQ(save.image, "books:1");
  EXPECT_EQ(save.command, (std::vector<std::string>{"save", "--all"}));
  ASSERT_EQ(save.env.size(), 1u);
  EXPECT_EQ(save.env.front(), (std::pair<std::string, std::string>{"TO", "a b"}));
  EXPECT_EQ(steps->at(0).timeout, std::chrono::minutes(1));
  EXPECT_EQ(steps->at(0).on_failure, OnFailure::kRetry);
  const auto& tell = std::get<PodToRun>(steps->at(1).what);
  EXPECT_TRUE(tell.command.empty() && tell.env.empty());
  EXPECT_EQ(steps->at(1).timeout, std::chrono::hours(24)) << "the deadline of all steps binds it";
}

TEST(ParseSteps, TakesWhatTheDocumentShows) {
  const auto document = ReadFile(PROJECT_ROOT "/docs/deletion.md", 1u << 20);
  ASSERT_TRUE(document);
  const std::size_t begin = document->find("```json\n[{\"name\"") + 8;
  const auto steps = ParseSteps(document->substr(begin, document->find("```", begin) - begin));
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_EQ(steps->size(), 3u);
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
           Case{R"([{"name":"a"}])", "either http, with a url, or an image"},
           Case{R"([{"name":"a","image":"i","http":{"url":"http://h/"}}])", "either http"},
           Case{R"([{"name":"a","http":1}])", "http must be an object"},
           Case{R"([{"name":"a","image":""}])", "image must be"},
           Case{R"([{"name":"a","image":"i j"}])", "image must be"},
           Case{R"([{"name":"a","image":"i","args":[]}])", "\"args\" is unknown"},
           Case{R"([{"name":"a","image":"i","command":"save"}])", "command must be"},
           Case{R"([{"name":"a","image":"i","command":[1]}])", "command must be"},
           Case{R"([{"name":"a","image":"i","env":{}}])", "env must be"},
           Case{R"([{"name":"a","image":"i","env":[{"name":"A"}]}])", "env must be"},
           Case{R"([{"name":"a","image":"i","env":[{"name":"A=B","value":""}]}])", "env must be"},
           Case{R"([{"name":"a","image":"i","env":[{"name":"A","value":"","valueFrom":{}}]}])",
                "env must be"},
           Case{R"([{"name":"a","http":{"url":"http://h/"},"command":["a"]}])",
                "\"command\" is unknown"},
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
