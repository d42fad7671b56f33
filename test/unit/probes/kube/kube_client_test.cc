#include "probes/kube/kube_client.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "probes/kube/look_reads.h"
#include "test/unit/support/fake_transport.h"
#include "test/unit/support/plugin.h"
#include "test/unit/support/temporary_directory.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

const ResourceType& Deployments() { return TypeOf("deployment"); }
const ResourceType& Pods() { return TypeOf("pod"); }

ApiRequest GetBob() { return ApiRequest::Get(Deployments(), "lab", "bob"); }
ApiRequest ListBob() {
  return ApiRequest::ListByName(Deployments(), "lab", "bob", Freshness::kConsistent);
}
ApiRequest ListLabelled(bool metadata_only) {
  return ApiRequest::ListBySelector(Deployments(), "lab", "oshinko-cluster=bob", metadata_only);
}
ApiRequest DeleteBob() {
  return ApiRequest::Delete(Deployments(), "lab", "bob", {"u1"}, PropagationPolicy::kBackground,
                            false);
}

std::string Bob(const std::string& ns = "lab", const std::string& name = "bob") {
  return ObjectText(Deployments(), ns, name, "u1", "", R"("spec":{"replicas":1})");
}

const char* ToText(ApiFailure failure) {
  const char* const names[] = {"unreachable", "stopped",   "not-sent",   "unauthorized",
                               "forbidden",   "not-found", "not-served", "conflict",
                               "invalid",     "throttled", "server",     "unexpected"};
  return names[static_cast<std::size_t>(failure)];
}

std::string Outcome(const ApiResult& result) {
  return result ? "value" : ToText(result.error().failure);
}

void ExpectOutcome(const ApiRequest& request, HttpResult answer, const char* expected,
                   const std::string& what) {
  const ApiResult result = Interpret(request, std::move(answer));
  EXPECT_EQ(Outcome(result), expected) << what;
  EXPECT_TRUE(result || !result.error().message.empty()) << what;
}

// A 404 whose Status has these details.
HttpResponse Status404(const std::string& details, const std::string& reason = "NotFound",
                       const std::string& code = "404") {
  return Answer(404, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                     R"("message":"not found","reason":")" +
                         reason + R"(","details":)" + details + R"(,"code":)" + code + "}");
}

TEST(Interpret, OnlyAStatusThatNamesTheObjectIsNotFound) {
  const std::string bob = R"({"name":"bob","group":"apps","kind":"deployments"})";
  ExpectOutcome(GetBob(), Status404(bob), "not-found", "the object");
  ExpectOutcome(GetBob(), NotFound(Deployments(), "bob"), "not-found", "the object");
  ExpectOutcome(DeleteBob(), Status404(bob), "not-found", "a delete");
  ExpectOutcome(ApiRequest::GetMetadata(Deployments(), "lab", "bob"), Status404(bob), "not-found",
                "metadata");
  ExpectOutcome(ApiRequest::MergePatch(Deployments(), "lab", "bob", "{}"), Status404(bob),
                "not-found", "a patch");
  ExpectOutcome(ApiRequest::Get(Pods(), "lab", "bob"), NotFound(Pods(), "bob"), "not-found",
                "core has no group");

  const std::string whole = Status404(bob).body;
  const auto details = [](const std::string& name, const std::string& kind,
                          const std::string& group) {
    return R"({"name":")" + name + R"(","kind":")" + kind + R"(","group":")" + group + R"("})";
  };
  const std::vector<std::pair<const char*, HttpResponse>> others = {
      {"unknown resource", Status404("{}")},
      {"details null", Status404("null")},
      {"another name", Status404(details("alice", "deployments", "apps"))},
      {"another kind", Status404(details("bob", "deployments/scale", "apps"))},
      {"the kind, not the plural", Status404(details("bob", "Deployment", "apps"))},
      {"another group", Status404(details("bob", "deployments", "extensions"))},
      {"no group", Status404(R"({"name":"bob","kind":"deployments"})")},
      {"another reason", Status404(bob, "Gone")},
      {"another code", Status404(bob, "NotFound", "200")},
      {"no path", NoSuchPath()},
      {"a Status said to be text", Answer(404, whole, "text/plain")},
      {"empty", Answer(404, "")},
      {"truncated", Answer(404, whole.substr(0, whole.size() - 1))},
  };
  for (const auto& [what, answer] : others) ExpectOutcome(GetBob(), answer, "not-served", what);
  ExpectOutcome(ListLabelled(false), Status404(bob), "not-served", "a list by selector");
  ExpectOutcome(ApiRequest::Discover("/apis"), NoSuchPath(), "not-served", "discovery");
}

TEST(Interpret, EveryOtherStatusSaysNothingOfTheObject) {
  const std::vector<std::pair<int, const char*>> cases = {
      {100, "unexpected"}, {301, "unexpected"}, {302, "unexpected"},   {304, "unexpected"},
      {307, "unexpected"}, {400, "invalid"},    {401, "unauthorized"}, {403, "forbidden"},
      {405, "unexpected"}, {406, "unexpected"}, {409, "conflict"},     {410, "unexpected"},
      {415, "invalid"},    {418, "unexpected"}, {422, "invalid"},      {429, "throttled"},
      {500, "server"},     {501, "server"},     {502, "server"},       {503, "server"},
      {504, "server"},     {599, "server"},     {0, "unexpected"},
  };
  for (const auto& [status, expected] : cases) {
    const std::string what = std::to_string(status);
    for (const ApiRequest& request : {GetBob(), ListBob(), ListLabelled(true), DeleteBob()}) {
      ExpectOutcome(request, Refused(status), expected, what);
      for (const std::string& body : {Bob(), ListText(Deployments(), {}), std::string(),
                                      NotFound(Deployments(), "bob").body}) {
        ExpectOutcome(request, Answer(status, body), expected, what + body);
      }
      ExpectOutcome(request, Answer(status, "<html>", "text/html"), expected, what + " HTML");
    }
  }
}

TEST(Interpret, NoAnswerIsUnreachableOrStopped) {
  using Kind = TransportError::Kind;
  for (const Kind kind :
       {Kind::kConnect, Kind::kTls, Kind::kTimeout, Kind::kTooLarge, Kind::kProtocol}) {
    ExpectOutcome(GetBob(), NoAnswer(kind), "unreachable", "no answer");
  }
  ExpectOutcome(GetBob(), NoAnswer(Kind::kStopped), "stopped", "stopped");
}

TEST(Interpret, TakesOnlyTheObjectThatWasAskedFor) {
  const ApiRequest metadata = ApiRequest::GetMetadata(Deployments(), "lab", "bob");
  std::string partial = Bob();
  partial.replace(partial.find("apps/v1"), 7, "meta.k8s.io/v1");
  partial.replace(partial.find("Deployment"), 10, "PartialObjectMetadata");
  ExpectOutcome(GetBob(), Answer(200, Bob()), "value", "the object");
  ExpectOutcome(GetBob(), Answer(200, Bob(), "application/json; charset=utf-8"), "value", "utf-8");
  for (const int status : {201, 203, 206}) {
    ExpectOutcome(GetBob(), Answer(status, Bob()), "unexpected", std::to_string(status));
  }
  ExpectOutcome(metadata, Answer(200, partial), "value", "metadata");
  ExpectOutcome(metadata, Answer(200, Bob()), "value", "the whole where metadata was asked for");
  ExpectOutcome(GetBob(), Answer(200, partial), "unexpected", "metadata for the whole");
  ExpectOutcome(ApiRequest::Get(TypeOf("namespace"), "", "lab"),
                Answer(200, ObjectText(TypeOf("namespace"), "", "lab", "u1")), "value",
                "a namespace has none");

  const std::vector<std::pair<const char*, HttpResponse>> others = {
      {"an object said to be HTML", Answer(200, Bob(), "text/html")},
      {"of no type", Answer(200, Bob(), "")},
      {"empty", Answer(200, "")},
      {"truncated", Answer(200, Bob().substr(0, Bob().size() - 1))},
      {"a key twice", Answer(200, R"({"kind":"Deployment",)" + Bob().substr(1))},
      {"a Status", Answer(200, R"({"kind":"Status","apiVersion":"v1","status":"Success"})")},
      {"a list", Answer(200, ListText(Deployments(), {Bob()}))},
      {"an array", Answer(200, "[" + Bob() + "]")},
      {"another kind", Answer(200, ObjectText(TypeOf("statefulset"), "lab", "bob", "u1"))},
      {"another version", Answer(200, ObjectText({"apps", "v1beta1", "deployments", "Deployment"},
                                                 "lab", "bob", "u1"))},
      {"another name", Answer(200, Bob("lab", "alice"))},
      {"another namespace", Answer(200, Bob("attic"))},
      {"no namespace", Answer(200, Bob(""))},
      {"no UID", Answer(200, ObjectText(Deployments(), "lab", "bob", ""))},
  };
  for (const auto& [what, answer] : others) {
    ExpectOutcome(GetBob(), answer, "unexpected", what);
    ExpectOutcome(metadata, answer, "unexpected", what);
  }
}

TEST(Interpret, TakesOnlyTheListThatWasAskedFor) {
  const ResourceType partial{"meta.k8s.io", "v1", "", "PartialObjectMetadata"};
  const auto with = [](const std::string& metadata, const std::string& items,
                       const std::string& kind = "DeploymentList",
                       const std::string& api_version = "apps/v1") {
    return Answer(200, R"({"kind":")" + kind + R"(","apiVersion":")" + api_version +
                           R"(","metadata":)" + metadata + R"(,"items":)" + items + "}");
  };
  const std::string version = R"({"resourceVersion":"9"})";
  struct Case {
    const char* what;
    HttpResponse answer;
    const char* by_name;
    const char* by_selector;
    const char* metadata_by_selector;
  };
  const char* yes = "value";
  const char* no = "unexpected";
  const std::vector<Case> cases = {
      {"empty", Answer(200, ListText(Deployments(), {})), yes, yes, yes},
      {"one", Answer(200, ListText(Deployments(), {Bob()})), yes, yes, yes},
      {"two by the name", Answer(200, ListText(Deployments(), {Bob(), Bob()})), no, yes, yes},
      {"another name", Answer(200, ListText(Deployments(), {Bob("lab", "alice")})), no, yes, yes},
      {"another namespace", Answer(200, ListText(Deployments(), {Bob("attic")})), no, no, no},
      {"an item without UID",
       Answer(200, ListText(Deployments(), {ObjectText(Deployments(), "lab", "bob", "")})), no, no,
       no},
      {"cut into pages, none yet", Answer(200, ListText(Deployments(), {}, "more")), no, yes, yes},
      {"cut into pages", Answer(200, ListText(Deployments(), {Bob()}, "more")), no, yes, yes},
      {"continue empty", with(R"({"resourceVersion":"9","continue":""})", "[]"), yes, yes, yes},
      {"continue no text", with(R"({"resourceVersion":"9","continue":5})", "[]"), no, no, no},
      {"items null", with(version, "null"), no, no, no},
      {"items an object", with(version, "{}"), no, no, no},
      {"no items",
       Answer(200,
              R"({"kind":"DeploymentList","apiVersion":"apps/v1","metadata":)" + version + "}"),
       no, no, no},
      {"no resourceVersion", with("{}", "[]"), no, no, no},
      {"resourceVersion empty", with(R"({"resourceVersion":""})", "[]"), no, no, no},
      {"another kind", with(version, "[]", "PodList", "v1"), no, no, no},
      {"another version", with(version, "[]", "DeploymentList", "apps/v1beta1"), no, no, no},
      {"a generic list", with(version, "[]", "List", "v1"), no, no, no},
      {"metadata", Answer(200, ListText(partial, {Bob()})), no, no, yes},
      {"metadata, empty", Answer(200, ListText(partial, {})), no, no, yes},
      {"metadata, null", with(version, "null", "PartialObjectMetadataList", "meta.k8s.io/v1"), no,
       no, yes},
      {"metadata, no items",
       Answer(200, R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",)"
                   R"("metadata":{"resourceVersion":"9"}})"),
       no, no, no},
  };
  for (const Case& one : cases) {
    ExpectOutcome(ListBob(), one.answer, one.by_name, one.what);
    ExpectOutcome(ListLabelled(false), one.answer, one.by_selector, one.what);
    ExpectOutcome(ListLabelled(true), one.answer, one.metadata_by_selector, one.what);
  }
  const auto one = Interpret(ListBob(), ListAnswer(Deployments(), {Bob()}));
  EXPECT_EQ(OnlyItem(*one)["metadata"]["name"].AsString(), "bob");
  EXPECT_FALSE(OnlyItem(*Interpret(ListBob(), ListAnswer(Deployments(), {}))).Exists());
}

// A definition's listKind needn't be KIND + "List".
TEST(Interpret, TakesAnyListKindOfACustomKind) {
  const ResourceType people{"example.com", "v1", "people", "Person"};
  const auto list = [](const std::string& kind, const std::string& items = "",
                       const std::string& api_version = "example.com/v1") {
    return Answer(200, R"({"kind":")" + kind + R"(","apiVersion":")" + api_version +
                           R"(","metadata":{"resourceVersion":"9"},"items":[)" + items + "]}");
  };
  const ResourceType pets{"example.com", "v1", "pets", "Pet"};
  const std::string bob = ObjectText(people, "lab", "bob", "u1");
  const std::tuple<const char*, HttpResponse, const char*> cases[] = {
      {"the usual", list("PersonList"), "value"},
      {"its own", list("PeopleList"), "value"},
      {"its own, with an item", list("PeopleList", bob), "value"},
      {"an item of another kind", list("PeopleList", ObjectText(pets, "lab", "bob", "u1")),
       "unexpected"},
      {"a built-in kind's", list("PodList"), "unexpected"},
      {"a generic one", list("List"), "unexpected"},
      {"no list", list("People"), "unexpected"},
      {"the object's kind", list("Person"), "unexpected"},
      {"another group's", list("PeopleList", "", "example.org/v1"), "unexpected"},
      {"another version's", list("PeopleList", "", "example.com/v2"), "unexpected"},
  };
  for (const auto& [what, answer, outcome] : cases) {
    ExpectOutcome(ApiRequest::ListByName(people, "lab", "bob", Freshness::kConsistent), answer,
                  outcome, what);
  }
}

TEST(Interpret, ADocumentIsAnyObject) {
  ExpectOutcome(DeleteBob(), Answer(200, R"({"kind":"Status","status":"Success"})"), "value", "");
  ExpectOutcome(DeleteBob(), Answer(200, Bob()), "value", "held by a finalizer");
  ExpectOutcome(DeleteBob(), Answer(202, Bob()), "value", "accepted");
  for (const char* body : {"[]", "null", "\"ok\"", "ok", ""}) {
    ExpectOutcome(DeleteBob(), Answer(200, body), "unexpected", body);
  }
}

TEST(Interpret, TellsAnAdmissionPolicysRefusalFromAMissingRight) {
  const std::string said = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not now";
  const std::string causes = R"({"kind":"Status","details":{"causes":[{"message":")";
  for (const int status : {403, 413, 422}) {
    const auto refused = Interpret(GetBob(), Answer(status, causes + said + R"("}]}})"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().policy, said) << status;
  }
  const std::string by_webhook = "admission webhook \"brake.example.com\" denied the request: no";
  for (const int status : {400, 403}) {
    const auto refused = Interpret(
        GetBob(), Answer(status, R"({"kind":"Status","message":)" + Quoted(by_webhook) + "}"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().policy, by_webhook) << status;
  }
  for (const std::string& other :
       {causes + R"(spec.replicas: must be a number"}]}})",
        std::string(R"({"kind":"Status","message":"User may not"})"), std::string("{}")}) {
    const auto refused = Interpret(GetBob(), Answer(403, other));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().policy, "") << other;
  }
}

// A refusal names a field or two in its message, and all in its causes.
TEST(Interpret, TellsAllThatWasSaidAgainstTheRequest) {
  const auto refused = Interpret(
      GetBob(), Answer(422, R"({"kind":"Status","message":"bob is invalid: a: no","details":)"
                            R"({"causes":[{"field":"a","message":"no"},)"
                            R"({"field":"spec.b","message":"must be a number"}]}})"));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(
      refused.error().message.ends_with(": bob is invalid: a: no; spec.b: must be a number"))
      << refused.error().message;
}

TEST(Interpret, SaysWhatWasAskedAndAnswered) {
  const auto refused = Interpret(
      GetBob(), Answer(403, R"({"kind":"Status","message":"deployments \"bob\"\nis forbidden"})"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "get deployments.apps \"bob\" in namespace lab: HTTP 403: deployments \"bob\" is "
            "forbidden");
  const auto path = Interpret(ApiRequest::Discover("/apis?a=b"), NoSuchPath());
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().message.substr(0, 10), "get /apis:");
  const auto binary =
      Interpret(GetBob(), Answer(500, "\x1b[31m\xff" + std::string(9'999, 'a'), "text/plain"));
  ASSERT_FALSE(binary);
  EXPECT_LT(binary.error().message.size(), 300u);
  for (const char c : binary.error().message) EXPECT_TRUE(c >= ' ' && c < 127);
}

TEST(Interpret, PassesOnHowLongToWaitAndTheServersTime) {
  const auto details = [](const std::string& number) {
    return R"({"kind":"Status","details":{"retryAfterSeconds":)" + number + "}}";
  };
  struct Case {
    std::optional<Duration> header;
    std::string body;
    std::optional<Duration> expected;
  };
  const std::vector<Case> cases = {
      {std::nullopt, "{}", std::nullopt},
      {seconds(3), "{}", seconds(3)},
      {seconds(0), details("5"), seconds(0)},
      {seconds(3), details("5"), seconds(3)},
      {std::nullopt, details("5"), seconds(5)},
      {std::nullopt, details("0"), seconds(0)},
      {std::nullopt, details("-5"), seconds(0)},
      {std::nullopt, details("9223372036854775807"), seconds(3'600)},
      {std::nullopt, details("\"5\""), std::nullopt},
      {std::nullopt, details("1.5"), std::nullopt},
  };
  for (const int status : {429, 404}) {
    for (const Case& one : cases) {
      HttpResponse answer = Answer(status, one.body);
      answer.retry_after = one.header;
      const auto result = Interpret(GetBob(), answer);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().retry_after, one.expected) << status << one.body;
    }
    HttpResponse text = Answer(status, "too many requests\n", "text/plain");
    text.retry_after = seconds(7);
    EXPECT_EQ(Interpret(GetBob(), text).error().retry_after, Duration(seconds(7)));
  }
  HttpResponse answer = Answer(200, Bob());
  EXPECT_EQ(Interpret(GetBob(), answer)->server_time, std::nullopt);
  answer.date = WallTime(seconds(1'700'000'000));
  EXPECT_EQ(Interpret(GetBob(), answer)->server_time, answer.date);
}

TEST(ApiRequest, AsksForTheRightThing) {
  const ResourceType& namespaces = TypeOf("namespace");
  const std::string deployments = "/apis/apps/v1/namespaces/lab/deployments";
  struct Case {
    ApiRequest request;
    HttpMethod method;
    std::string target;
  };
  const std::vector<Case> cases = {
      {GetBob(), HttpMethod::kGet, deployments + "/bob"},
      {ApiRequest::Get(Deployments(), "lab", "bob", Freshness::kCached), HttpMethod::kGet,
       deployments + "/bob?resourceVersion=0"},
      {ApiRequest::Get(namespaces, "ignored", "lab"), HttpMethod::kGet, "/api/v1/namespaces/lab"},
      {ApiRequest::GetMetadata(Pods(), "lab", "bob"), HttpMethod::kGet,
       "/api/v1/namespaces/lab/pods/bob"},
      {ListBob(), HttpMethod::kGet, deployments + "?fieldSelector=metadata.name%3Dbob"},
      {ApiRequest::ListByName(Deployments(), "lab", "bob", Freshness::kCached), HttpMethod::kGet,
       deployments + "?fieldSelector=metadata.name%3Dbob&resourceVersion=0"},
      {ListLabelled(true), HttpMethod::kGet,
       deployments + "?labelSelector=oshinko-cluster%3Dbob&limit=500"},
      {ApiRequest::ListBySelector(Pods(), "lab", "a in (b,c),!d&limit=1", false), HttpMethod::kGet,
       "/api/v1/namespaces/lab/pods?labelSelector=a%20in%20%28b%2Cc%29%2C%21d%26limit%3D1"
       "&limit=50"},
      {ApiRequest::Get(Pods(), "l/b", "../b?c#d"), HttpMethod::kGet,
       "/api/v1/namespaces/l%2Fb/pods/..%2Fb%3Fc%23d"},
      {ApiRequest::Discover("/apis"), HttpMethod::kGet, "/apis"},
      {ApiRequest::MergePatch(Deployments(), "lab", "bob", "{}"), HttpMethod::kPatch,
       deployments + "/bob"},
      {ApiRequest::Create(Pods(), "lab", "{}"), HttpMethod::kPost, "/api/v1/namespaces/lab/pods"},
      {DeleteBob(), HttpMethod::kDelete, deployments + "/bob"},
      {ApiRequest::ListMetadata(Deployments(), "lab"), HttpMethod::kGet,
       deployments + "?limit=500"},
      {ApiRequest::ListUnendedPods("lab"), HttpMethod::kGet,
       "/api/v1/namespaces/lab/pods?fieldSelector=status.phase%21%3DSucceeded%2C"
       "status.phase%21%3DFailed&limit=500"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(one.request.http.target, one.target);
    EXPECT_STREQ(ToString(one.request.http.method), ToString(one.method)) << one.target;
    EXPECT_EQ(one.request.http.body.empty(), one.method == HttpMethod::kGet) << one.target;
    EXPECT_EQ(one.request.http.bearer_token, "");
  }
  EXPECT_EQ(GetBob().http.accept, "application/json");
  EXPECT_NE(cases[3].request.http.accept.find("as=PartialObjectMetadata;"), std::string::npos);
  EXPECT_NE(ListLabelled(true).http.accept.find("as=PartialObjectMetadataList;"),
            std::string::npos);
  EXPECT_EQ(ListLabelled(false).http.accept, "application/json");
  EXPECT_EQ(cases[10].request.http.content_type, "application/merge-patch+json");
  EXPECT_EQ(cases[11].request.http.content_type, "application/json");
}

TEST(ApiRequest, DeletesOneUidUnderAStatedPolicy) {
  const std::vector<std::pair<PropagationPolicy, const char*>> policies = {
      {PropagationPolicy::kBackground, "Background"},
      {PropagationPolicy::kForeground, "Foreground"}};
  for (const auto& [policy, text] : policies) {
    for (const bool dry_run : {false, true}) {
      const ApiRequest request =
          ApiRequest::Delete(TypeOf("rc"), "lab", "bob", {"u\"1"}, policy, dry_run);
      EXPECT_EQ(request.http.content_type, "application/json");
      const auto options = JsonDocument::Parse(request.http.body);
      ASSERT_TRUE(options) << request.http.body;
      const JsonValue root = options->root();
      EXPECT_EQ(root["kind"].AsString(), "DeleteOptions");
      EXPECT_EQ(root["apiVersion"].AsString(), "v1");
      EXPECT_EQ(root["propagationPolicy"].AsString(), text);
      EXPECT_EQ(root["preconditions"].ToText(), R"({"uid":"u\"1"})");
      EXPECT_EQ(root["dryRun"].ToText(), dry_run ? R"(["All"])" : "");
      EXPECT_EQ(root.size(), dry_run ? 5u : 4u);
    }
  }
}

class KubeClientTest : public testing::Test {
 protected:
  KubeClientTest() { Write("one"); }

  void Write(const std::string& token) { directory_.Write("token", token); }
  ApiServer Server() const {
    ApiServer server;
    server.token_file = directory_.Path("token");
    return server;
  }

  // Answers 401 to the token "one", and with the object otherwise.
  void RefuseTheFirstToken() {
    transport_.otherwise = [](const HttpRequest& request) {
      return request.bearer_token == "one" ? Refused(401) : Answer(200, Bob());
    };
  }

  const TemporaryDirectory directory_;
  TestClock clock_;
  FakeTransport transport_;
  std::vector<RequestRecord> records_;
  TokenSource tokens_{Server(), clock_};
  KubeClient client_{transport_, tokens_,
                     [this](const RequestRecord& r) { records_.push_back(r); }};
};

TEST_F(KubeClientTest, TriesA401OnceMoreWithANewToken) {
  RefuseTheFirstToken();
  EXPECT_EQ(Outcome(client_.Do(GetBob(), {})), "unauthorized");
  ASSERT_EQ(transport_.requests.size(), 1u) << "not again with the same";
  EXPECT_EQ(transport_.requests[0].bearer_token, "one");
  Write("two");
  EXPECT_EQ(Outcome(client_.Do(GetBob(), {})), "value");
  ASSERT_EQ(transport_.requests.size(), 3u);
  EXPECT_EQ(transport_.requests[2].bearer_token, "two");
  ASSERT_EQ(records_.size(), 3u);
  EXPECT_FALSE(records_[0].retry || records_[1].retry);
  EXPECT_TRUE(records_[2].retry);
}

TEST_F(KubeClientTest, WhatIsNoLongerToBeSentIsNot) {
  RefuseTheFirstToken();
  int asked = 0;
  const auto once = Patience::While([&] { return ++asked == 1; });
  EXPECT_EQ(Outcome(client_.Do(DeleteBob(), Patience::While([] { return false; }))), "not-sent");
  EXPECT_TRUE(transport_.requests.empty());
  ASSERT_TRUE(tokens_.Token());
  Write("two");
  EXPECT_EQ(Outcome(client_.Do(DeleteBob(), once)), "unauthorized");
  EXPECT_EQ(transport_.requests.size(), 1u);
  EXPECT_TRUE(IsTransient(ApiFailure::kNotSent));
}

TEST_F(KubeClientTest, OfManyOnlyThoseAreSentForWhichItIsNotTooLate) {
  const std::vector<ApiRequest> requests(10, DeleteBob());
  const auto early = Patience::While([&] { return transport_.requests.empty(); });
  const auto results = client_.DoAll(requests, 2, early);
  EXPECT_EQ(transport_.requests.size(), 1u);
  EXPECT_EQ(records_.size(), 1u) << "what isn't sent is no request";
  EXPECT_EQ(Outcome(results.back()), "not-sent");
}

// A plugin may take its time.
TEST_F(KubeClientTest, WhetherItIsToBeSentIsAskedOnceTheTokenIsThere) {
  const Plugin plugin;
  plugin.GiveToken("two");
  ApiServer server;
  server.plugin = plugin.Authenticator();
  TokenSource tokens(server, clock_);
  KubeClient client(transport_, tokens, [](const RequestRecord&) {});
  const auto before = Patience::While([&] { return plugin.Runs() == 0; });
  EXPECT_EQ(Outcome(client.Do(DeleteBob(), before)), "not-sent");
  EXPECT_TRUE(transport_.requests.empty());
}

TEST_F(KubeClientTest, LeavesAPluginThatHangsWhenItIsToldToStop) {
  const Plugin plugin;
  plugin.Script("exec sleep 1000");
  ApiServer server;
  server.plugin = plugin.Authenticator();
  TokenSource tokens(server, clock_);
  KubeClient client(transport_, tokens, [](const RequestRecord&) {});
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(Outcome(client.Do(GetBob(), source.get_token())), "stopped");
  EXPECT_TRUE(transport_.requests.empty());
}

TEST_F(KubeClientTest, TriesA401NotMoreThanOnce) {
  transport_.otherwise = [this](const HttpRequest& request) {
    Write(request.bearer_token + "x");  // each lookup finds a new token
    return Refused(401);
  };
  EXPECT_EQ(Outcome(client_.Do(GetBob(), {})), "unauthorized");
  EXPECT_EQ(transport_.requests.size(), 2u);
}

TEST_F(KubeClientTest, TriesOnlyThe401sOfABatchAgain) {
  ASSERT_TRUE(tokens_.Token());
  Write("two");
  const ApiRequest alice = ApiRequest::Get(Deployments(), "lab", "alice");
  const ApiRequest carol = ApiRequest::Get(Deployments(), "lab", "carol");
  transport_.On(alice, Refused(403));
  transport_.On(carol, Answer(200, Bob("lab", "carol")));
  RefuseTheFirstToken();
  const auto results = client_.DoAll(std::vector{alice, GetBob(), carol}, 2, {});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(Outcome(results[0]), "forbidden");
  EXPECT_EQ(Outcome(results[1]), "value");
  EXPECT_EQ(Outcome(results[2]), "value");
  EXPECT_EQ(transport_.requests.size(), 4u);
  EXPECT_EQ(transport_.TimesAsked(GetBob()), 2u);
}

TEST_F(KubeClientTest, TriesNothingElseAgain) {
  ASSERT_TRUE(tokens_.Token());
  Write("two");
  for (const int status : {0, 302, 403, 404, 409, 410, 422, 429, 500, 503}) {
    transport_.Forget();
    transport_.On(GetBob(), status == 0 ? NoAnswer() : HttpResult(Refused(status)));
    EXPECT_FALSE(client_.Do(GetBob(), {})) << status;
    EXPECT_EQ(transport_.requests.size(), 1u) << status;
  }
}

TEST_F(KubeClientTest, SendsNothingWithoutAToken) {
  std::filesystem::remove(directory_.Path("token"));
  const auto results = client_.DoAll(std::vector{GetBob(), ListBob()}, 2, {});
  ASSERT_EQ(results.size(), 2u);
  for (const ApiResult& result : results) {
    EXPECT_EQ(Outcome(result), "unreachable");
    EXPECT_NE(result.error().message.find(directory_.Path("token")), std::string::npos);
  }
  EXPECT_TRUE(transport_.requests.empty());
}

TEST(KubeClient, RecordsEveryRequestThatWasMade) {
  FakeApi api;
  HttpResponse slow = Answer(200, Bob());
  slow.elapsed = std::chrono::microseconds(250);
  api.transport.On(GetBob(), slow);
  api.transport.On(ListBob(), NoAnswer());
  api.transport.On(DeleteBob(), NoAnswer(TransportError::Kind::kStopped));
  const auto results = api.client.DoAll(std::vector{GetBob(), ListBob(), DeleteBob()}, 3, {});
  EXPECT_EQ(Outcome(results[2]), "stopped");
  ASSERT_EQ(api.records.size(), 2u) << "what was stopped says nothing";
  EXPECT_EQ(api.records[0].method, HttpMethod::kGet);
  EXPECT_EQ(api.records[0].status, 200);
  EXPECT_EQ(api.records[0].elapsed, slow.elapsed);
  EXPECT_FALSE(api.records[0].retry);
  EXPECT_EQ(api.records[1].status, 0);
  EXPECT_EQ(api.transport.batches, 1u);
}

TEST(KubeClient, RemembersTheLongestWaitThatWasAskedFor) {
  FakeApi api;
  EXPECT_EQ(api.client.TakeRetryAfter(), Duration(0));
  HttpResponse throttled = Answer(429, "wait\n", "text/plain");
  throttled.retry_after = seconds(9);
  HttpResponse less = throttled;
  less.retry_after = seconds(2);
  api.transport.On(GetBob(), less);
  api.transport.On(ListBob(), throttled);
  api.transport.On(DeleteBob(), Answer(200, Bob()));
  EXPECT_FALSE(api.client.Do(ListBob(), {}));
  api.client.DoAll(std::vector{GetBob(), DeleteBob()}, 2, {});
  EXPECT_EQ(api.client.TakeRetryAfter(), Duration(seconds(9)));
  EXPECT_EQ(api.client.TakeRetryAfter(), Duration(0)) << "it is taken once";
}

ApiRequest NextPage(const ApiRequest& first, const std::string& continuation) {
  ApiRequest next = first;
  next.http.target += "&continue=" + continuation;
  return next;
}

TEST(KubeClient, ListsAllPages) {
  FakeApi api;
  const ApiRequest first = ListLabelled(false);
  const auto page = [](const std::string& name, const std::string& next) {
    return Answer(200, ListText(Deployments(), {Bob("lab", name)}, next));
  };
  api.transport.On(first, page("a", "x&y=1"));
  api.transport.On(NextPage(first, "x%26y%3D1"), page("b", "z"));
  api.transport.On(NextPage(first, "z"), page("c", ""));
  std::string names;
  const auto read = api.client.EachItem(
      first, [&](JsonValue item) { names += *item["metadata"]["name"].AsString(); }, {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(names, "abc");
}

TEST(KubeClient, AListIsReadUpToWhatIsLookedFor) {
  FakeApi api;
  const ApiRequest first = ListLabelled(false);
  api.transport.On(first, Answer(200, ListText(Deployments(), {Bob()}, "z")));
  api.transport.On(NextPage(first, "z"), NoAnswer());
  int shown = 0;
  const auto found = api.client.AnyItem(first, [&](JsonValue) { return ++shown == 1; }, {});
  EXPECT_TRUE(found && *found);
  EXPECT_EQ(api.transport.requests.size(), 1u);
  EXPECT_FALSE(api.client.AnyItem(first, [](JsonValue) { return false; }, {}));
}

TEST(KubeClient, AListIsWholeOrAnError) {
  for (const HttpResult& second :
       {HttpResult(NoAnswer()), HttpResult(Refused(410)), HttpResult(Refused(500)),
        HttpResult(Answer(200, "")), HttpResult(Answer(200, ListText(Pods(), {})))}) {
    FakeApi api;
    const ApiRequest first = ListLabelled(false);
    api.transport.On(first, Answer(200, ListText(Deployments(), {Bob()}, "z")));
    api.transport.On(NextPage(first, "z"), second);
    EXPECT_FALSE(api.client.EachItem(first, [](JsonValue) {}, {}));
    EXPECT_EQ(api.transport.requests.size(), 2u);
  }
}

TEST(KubeClient, APageThatIsTooLargeIsReadInSmallerOnes) {
  FakeApi api;
  const ApiRequest list = ListLabelled(false);
  const auto page = [&](int limit, const std::string& next = "") {
    ApiRequest request = list;
    request.http.target.replace(request.http.target.find("limit=50"), 8,
                                "limit=" + std::to_string(limit));
    if (!next.empty()) request.http.target += "&continue=" + next;
    return request;
  };
  const auto too_large = [] { return NoAnswer(TransportError::Kind::kTooLarge); };
  const auto item = [](const char* name) { return ObjectText(Deployments(), "lab", name, name); };
  api.transport.On(page(50), too_large());
  api.transport.On(page(25), ListAnswer(Deployments(), {item("a")}, "more"));
  api.transport.On(page(25, "more"), too_large());
  api.transport.On(page(12, "more"), ListAnswer(Deployments(), {item("b")}, "most"));
  api.transport.On(page(12, "most"), ListAnswer(Deployments(), {item("c")}));
  std::string seen;
  const auto show = [&](JsonValue one) { seen += *one["metadata"]["name"].AsString(); };
  EXPECT_TRUE(api.client.EachItem(list, show, {}));
  EXPECT_EQ(seen, "abc");

  api.transport.Forget();
  for (const int limit : {50, 25, 12, 6, 3, 1}) api.transport.On(page(limit), too_large());
  EXPECT_FALSE(api.client.EachItem(list, show, {}));
  ASSERT_EQ(api.transport.requests.size(), 6u) << "one object alone is too large";
  EXPECT_EQ(api.transport.requests[4].body_limit, 1u << 20) << "many are read at a time";
  EXPECT_EQ(api.transport.requests[5].body_limit, HttpRequest().body_limit);
}

TEST(KubeClient, EndlessPagesEndInAnError) {
  FakeApi api;
  api.transport.otherwise = [](const HttpRequest&) {
    return Answer(200, ListText(Deployments(), {}, "again"));
  };
  const auto read = api.client.EachItem(ListLabelled(false), [](JsonValue) {}, {});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("no end"), std::string::npos);
  EXPECT_LE(api.transport.requests.size(), 2'000u);
}

TEST(KubeClient, ListsSeveralSideBySideInTheirOrder) {
  FakeApi api;
  const ApiRequest pods = ApiRequest::ListBySelector(Pods(), "lab", "a=b", false);
  api.transport.On(ListLabelled(false), Answer(200, ListText(Deployments(), {Bob()}, "z")));
  api.transport.On(NextPage(ListLabelled(false), "z"), Answer(200, ListText(Deployments(), {})));
  api.transport.On(pods, Refused(403));
  std::vector<std::size_t> shown;
  const auto show = [&](std::size_t which, JsonValue) { shown.push_back(which); };
  const auto lists =
      api.client.EachItemSideBySide(std::vector{pods, ListLabelled(false)}, 8, show, {});
  ASSERT_EQ(lists.size(), 2u);
  ASSERT_FALSE(lists[0]);
  EXPECT_EQ(lists[0].error().failure, ApiFailure::kForbidden);
  ASSERT_TRUE(lists[1]);
  EXPECT_EQ(shown, (std::vector<std::size_t>{1}));
  EXPECT_EQ(api.transport.batches, 2u);
  EXPECT_TRUE(api.client.EachItemSideBySide({}, 8, show, {}).empty());
}

TEST(KubeClient, UntilTimeoutTheFirstOneIsTheLastThatIsSent) {
  FakeApi api;
  const std::vector<ApiRequest> lists(7, ListLabelled(false));
  api.transport.otherwise = [](const HttpRequest&) { return NoAnswer(); };
  const Patience patience = Patience::UntilTimeout({});
  for (const ApiResult& answer : api.client.DoAll(lists, 3, patience)) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().failure, ApiFailure::kUnreachable);
  }
  EXPECT_EQ(api.transport.requests.size(), 3u);
  const Patience copy = patience;
  EXPECT_FALSE(api.client.Do(GetBob(), copy));
  EXPECT_EQ(api.transport.requests.size(), 3u);
  EXPECT_FALSE(api.client.Do(GetBob(), {}));
  EXPECT_EQ(api.transport.requests.size(), 4u);
}

TEST(KubeClient, UntilTimeoutOtherFailuresEndNothing) {
  FakeApi api;
  const Patience patience = Patience::UntilTimeout({});
  api.transport.On(GetBob(), NoAnswer(TransportError::Kind::kConnect));
  api.transport.On(GetBob(), Answer(200, Bob()));
  EXPECT_FALSE(api.client.Do(GetBob(), patience));
  EXPECT_TRUE(api.client.Do(GetBob(), patience));
}

HttpResult WithDate(HttpResult answer, WallTime date, std::uint32_t connection) {
  answer->date = date;
  answer->connection = connection;
  return answer;
}

struct LookApi : FakeApi {
  std::shared_ptr<LookReads> reads = std::make_shared<LookReads>(clock, Duration(5'000));
  Patience patience = Patience::OfLook(reads, {});
};

TEST(KubeClient, InALookOnlyWhatFailedInPassingIsAskedAgain) {
  LookApi api;
  const std::vector<ApiRequest> requests = {GetBob(), ListBob(), ListLabelled(true)};
  api.transport.On(requests[0], NoAnswer(TransportError::Kind::kConnect));
  api.transport.On(requests[0], Refused(503));
  api.transport.On(requests[0], Answer(200, R"({"kind":"Deploy)"));
  api.transport.On(requests[0], Refused(429));
  api.transport.On(requests[0], Answer(200, Bob()));
  api.transport.On(requests[1], Refused(403));
  api.transport.On(requests[2], Refused(401));
  const auto answers = api.client.DoAll(requests, 3, api.patience);
  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(api.transport.requests.size(), 7u);
  EXPECT_EQ(api.transport.TimesAsked(requests[1]), 1u);
  EXPECT_GE(api.clock.elapsed, Duration(4 * 20));
  EXPECT_LE(api.clock.elapsed, Duration(4 * 300));
}

TEST(KubeClient, InALookNothingIsAskedAgainForEver) {
  LookApi api;
  api.transport.On(GetBob(), Refused(500));
  EXPECT_FALSE(api.client.Do(GetBob(), api.patience));
  EXPECT_EQ(api.transport.requests.size(), 6u);
}

TEST(KubeClient, InALookATimeoutIsNotAskedAgain) {
  LookApi api;
  api.transport.On(GetBob(), NoAnswer());
  EXPECT_FALSE(api.client.Do(GetBob(), api.patience));
  EXPECT_EQ(api.transport.requests.size(), 1u);
}

TEST(KubeClient, RepeatedReadsDoNotDependOnEachOther) {
  LookApi api;
  const std::vector<ApiRequest> requests = {GetBob(), ListBob()};
  api.transport.On(requests[0], NoAnswer());
  api.transport.On(requests[1], Refused(503));
  api.transport.On(requests[1], ListAnswer(Deployments(), {Bob()}));
  const auto answers = api.client.DoAll(requests, 1, Patience::Repeating(api.reads));
  EXPECT_FALSE(answers[0]);
  EXPECT_TRUE(answers[1]);
  EXPECT_EQ(api.transport.requests.size(), 3u);
}

TEST(KubeClient, InALookARetryAfterIsWaitedForWhileTheEvidenceStaysFresh) {
  LookApi api;
  HttpResponse busy = Refused(429);
  busy.retry_after = std::chrono::seconds(3);
  api.transport.On(GetBob(), busy);
  EXPECT_FALSE(api.client.Do(GetBob(), api.patience));
  EXPECT_EQ(api.transport.requests.size(), 2u);
  EXPECT_EQ(api.clock.elapsed, Duration(3'000));
  EXPECT_EQ(api.client.TakeRetryAfter(), Duration(3'000));
}

TEST(KubeClient, WhatIsReadAheadIsNotAskedForAgain) {
  LookApi api;
  api.transport.On(GetBob(), Answer(200, Bob()));
  const ApiRequest request = GetBob();
  api.client.ReadAhead(std::span(&request, 1), 3, api.patience);
  EXPECT_TRUE(api.client.Do(request, api.patience));
  EXPECT_EQ(api.transport.requests.size(), 1u);
  EXPECT_TRUE(api.client.Do(request, api.patience));
  EXPECT_EQ(api.transport.requests.size(), 2u);
  api.client.ReadAhead(std::span(&request, 1), 3, api.patience);
  api.reads->BeginEvidence();
  EXPECT_TRUE(api.client.Do(request, api.patience));
  EXPECT_EQ(api.transport.requests.size(), 4u);
}

TEST(KubeClient, EvidenceIsAsOldAsTheSlowestClockSays) {
  LookApi api;
  const WallTime date{std::chrono::hours(24)};
  const auto age = [&] { return AgeOf(api.reads->since(), api.clock, api.client.dates()); };
  api.transport.On(GetBob(), WithDate(Answer(200, Bob()), date, 1));
  api.transport.On(GetBob(), WithDate(Answer(200, Bob()), date + std::chrono::hours(1), 2));
  api.transport.On(GetBob(), WithDate(Answer(200, Bob()), date + std::chrono::seconds(1), 1));
  api.transport.On(GetBob(), WithDate(Answer(200, Bob()), date + std::chrono::seconds(31), 1));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(api.client.Do(GetBob(), api.patience));
  EXPECT_EQ(age(), Duration(0));
  EXPECT_TRUE(api.client.Do(GetBob(), {}));
  EXPECT_EQ(age(), Duration(30'000));
  api.clock.suspended = std::chrono::minutes(2);
  EXPECT_EQ(age(), std::chrono::minutes(2));
}

TEST(KubeClient, TheDatesOfAConnectionToSeveralServersSayNothing) {
  LookApi api;
  const WallTime date{std::chrono::hours(24)};
  for (const int second : {0, 1, 0, 60, 1, 61}) {
    api.transport.On(GetBob(),
                     WithDate(Answer(200, Bob()), date + std::chrono::seconds(second), 1));
  }
  const auto age_after = [&](int reads) {
    for (int i = 0; i < reads; ++i) EXPECT_TRUE(api.client.Do(GetBob(), api.patience));
    return AgeOf(api.reads->since(), api.clock, api.client.dates());
  };
  EXPECT_EQ(age_after(4), std::chrono::seconds(59)) << "it may have been suspended";
  EXPECT_EQ(age_after(1), Duration(0)) << "another server";
  api.reads->BeginEvidence();
  EXPECT_EQ(age_after(1), Duration(0)) << "and the first one again";
}

TEST(KubeClient, ARetryAfterThatIsIgnoredHoldsNothingUp) {
  FakeApi api;
  HttpResponse busy = Refused(429);
  busy.retry_after = std::chrono::seconds(9);
  api.transport.On(GetBob(), busy);
  const ApiRequest request = GetBob();
  EXPECT_FALSE(api.client.DoAll(std::span(&request, 1), 1, {}, RetryAfter::kIgnore).front());
  EXPECT_EQ(api.client.TakeRetryAfter(), Duration(0));
}

}  // namespace
}  // namespace cluster_watcher
