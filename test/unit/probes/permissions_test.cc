#include "probes/permissions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

HttpResponse Review(const std::string& status) {
  return Answer(201, R"({"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",)"
                     R"("metadata":{},"spec":{},"status":)" +
                         status + "}");
}

Permission On(const char* verb, const char* resource, const char* ns = "lab",
              const char* name = "") {
  return Permission::For(verb, TypeOf(resource), ns, name);
}

class PermissionProbeTest : public testing::Test {
 protected:
  // Gives `answer` to requests whose body contains `part`, and allows everything else.
  void AnswerFor(const std::string& part, HttpResult answer) {
    api_.transport.otherwise = [part, answer](const HttpRequest& request) {
      return request.body.find(part) == std::string::npos
                 ? HttpResult(Review(R"({"allowed":true,"reason":"RBAC: allowed"})"))
                 : answer;
    };
  }

  FakeApi api_;
  PermissionProbe probe_{api_.client, api_.clock};
};

TEST_F(PermissionProbeTest, AsksForEachPermissionExactly) {
  AnswerFor("nothing", Review("{}"));
  Permission scale = On("get", "deployment", "lab", "bob");
  scale.resource += "/scale";
  const std::vector<Permission> permissions = {
      On("list", "pods"), scale, {"create", "events.k8s.io", "events", "", ""}};
  const auto missing = probe_.FindMissing(permissions, {});
  ASSERT_TRUE(missing);
  EXPECT_TRUE(missing->empty());
  ASSERT_EQ(api_.transport.requests.size(), 3u);
  const auto body = [](const std::string& attributes) {
    return R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview",)"
           R"("spec":{"resourceAttributes":)" +
           attributes + "}}";
  };
  const auto& requests = api_.transport.requests;
  EXPECT_EQ(requests[0].body,
            body(R"({"verb":"list","group":"","resource":"pods","namespace":"lab"})"));
  EXPECT_EQ(requests[1].body, body(R"({"verb":"get","group":"apps","resource":"deployments",)"
                                   R"("subresource":"scale","namespace":"lab","name":"bob"})"));
  EXPECT_EQ(requests[2].body,
            body(R"({"verb":"create","group":"events.k8s.io","resource":"events"})"));
  for (const HttpRequest& request : requests) {
    EXPECT_EQ(request.method, HttpMethod::kPost);
    EXPECT_EQ(request.target, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    EXPECT_EQ(request.content_type, "application/json");
    EXPECT_EQ(request.timeout, Duration(2'000));
  }
}

TEST_F(PermissionProbeTest, AsksAboutAnotherAccount) {
  PermissionProbe probe(api_.client, api_.clock, ServiceAccountName{"lab", "bob"});
  const auto review = [](const std::string& kind) {
    return Answer(201, R"({"kind":")" + kind + R"(","status":{"allowed":false}})");
  };
  api_.transport.otherwise = [&](const HttpRequest& request) {
    return review(request.target.find("local") == std::string::npos ? "SubjectAccessReview"
                                                                    : "LocalSubjectAccessReview");
  };
  const std::vector<Permission> permissions = {On("list", "pods"), On("list", "namespaces", "")};
  const auto missing = probe.FindMissing(permissions, {});
  ASSERT_TRUE(missing) << missing.error().message;
  EXPECT_EQ(*missing, permissions);
  const std::string who =
      R"(,"user":"system:serviceaccount:lab:bob","groups":["system:serviceaccounts",)"
      R"("system:serviceaccounts:lab","system:authenticated"]}})";
  const auto& requests = api_.transport.requests;
  EXPECT_EQ(requests[0].target,
            "/apis/authorization.k8s.io/v1/namespaces/lab/localsubjectaccessreviews");
  EXPECT_EQ(requests[0].body,
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"LocalSubjectAccessReview",)"
            R"("metadata":{"namespace":"lab"},"spec":{"resourceAttributes":{"verb":"list",)"
            R"("group":"","resource":"pods","namespace":"lab"})" +
                who);
  EXPECT_EQ(requests[1].target, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
  EXPECT_TRUE(requests[1].body.ends_with(R"("resource":"namespaces"})" + who)) << requests[1].body;
}

TEST_F(PermissionProbeTest, TellsWhatIsMissing) {
  for (const char* denied : {R"({"allowed":false})", R"({"allowed":false,"denied":true})",
                             R"({"allowed":false,"evaluationError":"role \"x\" not found"})"}) {
    AnswerFor(R"("resource":"services")", Review(denied));
    const std::vector<Permission> permissions = {On("list", "pods"), On("list", "services"),
                                                 On("list", "configmaps"), On("list", "jobs"),
                                                 On("delete", "services")};
    const auto missing = probe_.FindMissing(permissions, {});
    ASSERT_TRUE(missing);
    EXPECT_EQ(*missing, (std::vector{permissions[1], permissions[4]})) << denied;
  }
}

TEST_F(PermissionProbeTest, AnythingElseIsNoAnswer) {
  const std::vector<HttpResult> answers = {
      Review("{}"),
      Review("null"),
      Review(R"({"allowed":"true"})"),
      Review(R"({"allowed":0})"),
      Review(R"({"allowed":null,"denied":true})"),
      Answer(201, R"({"kind":"Status","apiVersion":"v1","status":{"allowed":false}})"),
      Answer(201, "[]"),
      Refused(403),
      NoSuchPath(),
      Refused(500),
      NoAnswer()};
  const std::vector<Permission> permissions = {On("list", "pods"), On("list", "services"),
                                               On("list", "configmaps"), On("list", "jobs")};
  for (const HttpResult& answer : answers) {
    api_.transport.requests.clear();
    AnswerFor(R"("resource":"services")", answer);
    EXPECT_FALSE(probe_.FindMissing(permissions, {})) << (answer ? answer->body : "no answer");
    EXPECT_EQ(api_.transport.requests.size(), 3u) << "who doesn't answer isn't asked for the rest";
  }
}

TEST_F(PermissionProbeTest, DoesNotWaitLongForASlowServer) {
  api_.transport.otherwise = [&](const HttpRequest&) {
    api_.clock.elapsed += std::chrono::milliseconds(600);
    return Review(R"({"allowed":true})");
  };
  const std::vector<Permission> permissions(30, On("list", "pods"));
  EXPECT_FALSE(probe_.FindMissing(permissions, {}));
  EXPECT_EQ(api_.transport.requests.size(), 9u);
}

TEST(Permission, IsInNoNamespaceWhereTheKindIsNot) {
  EXPECT_EQ(On("get", "pods", "lab").ns, "lab");
  EXPECT_EQ(On("get", "namespaces", "lab").ns, "");
}

TEST(RulesThatGrant, OneRuleForWhatIsAlike) {
  const std::vector<Permission> missing = {
      On("delete", "deployments"), On("list", "deployments"),  On("list", "services"),
      On("list", "statefulsets"),  On("delete", "services"),   On("delete", "statefulsets"),
      On("list", "pods"),          On("patch", "pods", "lab"), On("patch", "pods", "lab", "x"),
      On("get", "pods"),           On("delete", "daemonsets"),
  };
  const auto rules = RulesThatGrant(missing);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].ns, "lab");
  EXPECT_EQ(
      rules[0].text,
      R"([{apiGroups: ["apps"], resources: ["deployments", "statefulsets"], verbs: ["list", "delete"]}, )"
      R"({apiGroups: [""], resources: ["services"], verbs: ["list", "delete"]}, )"
      R"({apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "patch"]}, )"
      R"({apiGroups: ["apps"], resources: ["daemonsets"], verbs: ["delete"]}])");
}

TEST(RulesThatGrant, EachNamespaceHasItsOwn) {
  const std::vector<Permission> missing = {On("list", "pods", "lab"), On("list", "pods", "drivers"),
                                           On("list", "jobs", "lab"), On("get", "namespaces")};
  const auto rules = RulesThatGrant(missing);
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].ns, "lab");
  EXPECT_EQ(rules[0].text, R"([{apiGroups: [""], resources: ["pods"], verbs: ["list"]}, )"
                           R"({apiGroups: ["batch"], resources: ["jobs"], verbs: ["list"]}])");
  EXPECT_EQ(rules[1].ns, "drivers");
  EXPECT_EQ(rules[1].text, R"([{apiGroups: [""], resources: ["pods"], verbs: ["list"]}])");
  EXPECT_EQ(rules[2].ns, "");
}

TEST(RulesThatGrant, StaysOneLine) {
  const std::vector<Permission> missing = {{"list", "a\"b", "c\nd", "lab", ""}};
  EXPECT_EQ(RulesThatGrant(missing)[0].text,
            R"([{apiGroups: ["a\"b"], resources: ["c\nd"], verbs: ["list"]}])");
  EXPECT_TRUE(RulesThatGrant({}).empty());
}

}  // namespace
}  // namespace cluster_watcher
