#include "watcher/admission/admission_review.h"

#include <gtest/gtest.h>

#include <openssl/evp.h>

#include "probes/base/json.h"

namespace cluster_watcher {
namespace {

constexpr char kMaster[] =
    R"({"metadata":{"generateName":"bob-m-","labels":{"oshinko-type":"master"}},)"
    R"("spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"m"}]}})";

InjectionSettings Shipped() {
  InjectionSettings settings;
  settings.image = "cluster-watcher:0.1.0";
  return settings;
}

struct Asked {
  std::string version = "admission.k8s.io/v1";
  std::string operation = "CREATE";
  std::string kind = R"({"group":"","version":"v1","kind":"Pod"})";
  std::string object = kMaster;
  std::string more = "";  // further fields of the request
};

std::string ReviewOf(const Asked& asked) {
  return R"({"apiVersion":")" + asked.version + R"(","kind":"AdmissionReview","request":{)" +
         R"("uid":"u-1","namespace":"lab","operation":")" + asked.operation + R"(","kind":)" +
         asked.kind + R"(,"object":)" + asked.object + asked.more + "}}";
}

// The response in an answer, which must be an AdmissionReview.
struct Parsed {
  explicit Parsed(const AdmissionAnswer& answer)
      : document(*JsonDocument::Parse(answer.body)), response(document.root()["response"]) {
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.content_type, "application/json");
    EXPECT_EQ(document.root()["apiVersion"].AsString(), "admission.k8s.io/v1");
    EXPECT_EQ(document.root()["kind"].AsString(), "AdmissionReview");
    EXPECT_EQ(response["uid"].AsString(), "u-1");
  }
  std::string Patch() const {
    const std::string text(response["patch"].AsString().value_or(""));
    std::string patch(text.size(), '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(patch.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
    patch.resize(static_cast<std::size_t>(size));
    while (!patch.empty() && patch.back() == '\0') patch.pop_back();  // of the padding
    return patch;
  }
  JsonDocument document;
  JsonValue response;
};

TEST(AnswerMutate, PatchesANewPod) {
  const auto answer = AnswerMutate(ReviewOf({}), Shipped());
  const Parsed parsed(answer);
  EXPECT_EQ(parsed.response["allowed"].AsBool(), true);
  EXPECT_EQ(parsed.response["patchType"].AsString(), "JSONPatch");
  const auto patch = JsonDocument::Parse(parsed.Patch());
  ASSERT_TRUE(patch) << parsed.Patch();
  EXPECT_EQ(patch->root().size(), 7u);
  ASSERT_EQ(parsed.response["warnings"].size(), 1u);
  EXPECT_NE(parsed.response["warnings"].At(0).AsString()->find(
                "cluster-watcher: terminationGracePeriodSeconds is 0"),
            std::string::npos);
  EXPECT_EQ(answer.result, "injected");
  EXPECT_NE(answer.log.find("pod \"lab/bob-m-\" injected"), std::string::npos) << answer.log;
  const auto dry_run = AnswerMutate(ReviewOf({.more = R"(,"dryRun":true)"}), Shipped());
  EXPECT_FALSE(Parsed(dry_run).Patch().empty()) << "it is answered as the real thing";
}

TEST(AnswerMutate, LetsEverythingElseThroughAsItIs) {
  const Asked kCases[] = {
      {.operation = "UPDATE"},
      {.operation = "DELETE", .object = "null"},
      {.operation = "CONNECT"},
      {.operation = ""},
      {.kind = R"({"group":"apps","version":"v1","kind":"Deployment"})"},
      {.kind = R"({"group":"","version":"v2","kind":"Pod"})"},
      {.kind = "null"},
      {.object = "null"},
      {.object = "[]"},
      {.object = R"({"metadata":{},"spec":{}})"},
      {.more = R"(,"subResource":"ephemeralcontainers")"},
  };
  for (const Asked& asked : kCases) {
    const auto answer = AnswerMutate(ReviewOf(asked), Shipped());
    const Parsed parsed(answer);
    EXPECT_EQ(parsed.response["allowed"].AsBool(), true);
    EXPECT_FALSE(parsed.response["patch"].Exists()) << ReviewOf(asked);
    EXPECT_EQ(answer.result, "not-asked");
    EXPECT_TRUE(answer.log.empty());
  }
}

constexpr char kCluster[] = R"({"metadata":{"name":"c"},"spec":{}})";
constexpr char kByPod[] = R"(,"userInfo":{"username":"system:serviceaccount:lab:notebook",)"
                          R"("extra":{"authentication.kubernetes.io/pod-name":["nb"]}})";

TEST(AnswerOwner, IsThePodThatMakesIt) {
  const auto answer = AnswerOwner(ReviewOf({.object = kCluster, .more = kByPod}));
  EXPECT_EQ(
      Parsed(answer).Patch(),
      R"([{"op":"add","path":"/metadata/annotations","value":{}},)"
      R"({"op":"add","path":"/metadata/annotations/cluster-watcher~1owner","value":"pod/nb"}])");
  EXPECT_EQ(answer.result, "owned");
}

TEST(AnswerOwner, IsNobodyWhereNoPodOfTheNamespaceMakesItOrItIsOwned) {
  const std::string by_another =
      std::string(kByPod).replace(std::string(kByPod).find(":lab:"), 5, ":shop:");
  const Asked kCases[] = {
      {.object = kCluster},
      {.object = kCluster, .more = by_another},
      {.object = kCluster, .more = R"(,"userInfo":{"username":"system:serviceaccount:lab:n"})"},
      {.operation = "UPDATE", .object = kCluster, .more = kByPod},
      {.object = "null", .more = kByPod},
      {.object = R"({"metadata":{"annotations":{"cluster-watcher/owner":"deployment/bob"}}})",
       .more = kByPod},
      {.object = R"({"metadata":{"ownerReferences":[{"kind":"RayJob"}]}})", .more = kByPod},
  };
  for (const Asked& asked : kCases) {
    const auto answer = AnswerOwner(ReviewOf(asked));
    EXPECT_FALSE(Parsed(answer).response["patch"].Exists()) << ReviewOf(asked);
    EXPECT_EQ(answer.result, "not-asked");
  }
  EXPECT_EQ(AnswerOwner("{}").status, 400);
}

TEST(AnswerMutate, SaysWhatABodyLacks) {
  const struct {
    std::string body;
    const char* message;
  } kCases[] = {
      {"", "empty"},
      {"{", "not JSON"},
      {"hello", "not JSON"},
      {ReviewOf({}).substr(0, 100), "not JSON"},
      {ReviewOf({}) + "x", "not JSON"},
      {std::string(100, '[') + std::string(100, ']'), "not JSON"},
      {"[]", "not an AdmissionReview"},
      {R"({"kind":"Pod","apiVersion":"v1"})", "not an AdmissionReview"},
      {ReviewOf({.version = "admission.k8s.io/v1beta1"}), "admissionReviewVersions"},
      {ReviewOf({.version = "admission.k8s.io/v2"}), "admissionReviewVersions"},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})", "no request.uid"},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":7}})",
       "no request.uid"},
  };
  for (const auto& [body, message] : kCases) {
    for (const auto& answer :
         {AnswerMutate(body, Shipped()), AnswerValidate(body, Shipped(), true)}) {
      EXPECT_EQ(answer.status, 400) << body;
      EXPECT_NE(answer.body.find(message), std::string::npos) << answer.body;
      EXPECT_EQ(answer.result, "error");
    }
  }
}

Asked DeploymentWith(const std::string& annotations) {
  return {
      .kind = R"({"group":"apps","version":"v1","kind":"Deployment"})",
      .object = R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"bob-m"},)"
                R"("spec":{"template":{"metadata":{"labels":{"oshinko-type":"master"},)"
                R"("annotations":{)" +
                annotations +
                R"(}},"spec":{"terminationGracePeriodSeconds":1,"containers":[{"name":"m"}]}}}})"};
}

TEST(AnswerValidate, WarnsOfWhatThePodsWillBe) {
  const auto answer = AnswerValidate(
      ReviewOf(DeploymentWith(R"("cluster-watcher/grace-period":"soon")")), Shipped(), false);
  const Parsed parsed(answer);
  EXPECT_EQ(parsed.response["allowed"].AsBool(), true);
  EXPECT_FALSE(parsed.response["patch"].Exists());
  ASSERT_EQ(parsed.response["warnings"].size(), 2u);
  EXPECT_NE(parsed.response["warnings"].At(0).AsString()->find("cluster-watcher/grace-period"),
            std::string::npos);
  EXPECT_NE(parsed.response["warnings"].At(1).AsString()->find("terminationGracePeriodSeconds"),
            std::string::npos);
  EXPECT_EQ(answer.result, "warned");
}

TEST(AnswerValidate, RefusesOnlyWhereToldTo) {
  const std::string review = ReviewOf(DeploymentWith(R"("cluster-watcher/grace-period":"soon")"));
  const auto answer = AnswerValidate(review, Shipped(), true);
  const Parsed parsed(answer);
  EXPECT_EQ(parsed.response["allowed"].AsBool(), false);
  EXPECT_EQ(parsed.response["status"]["code"].AsInteger(), 422);
  EXPECT_NE(parsed.response["status"]["message"].AsString()->find("cluster-watcher/grace-period"),
            std::string::npos);
  EXPECT_EQ(answer.result, "rejected");
  const auto fine = AnswerValidate(
      ReviewOf(DeploymentWith(R"("cluster-watcher/grace-period":"5s")")), Shipped(), true);
  EXPECT_EQ(Parsed(fine).response["allowed"].AsBool(), true);
}

TEST(AnswerValidate, RefusesNeitherAnUpdateForWhatWasThereBeforeNorWhatAControllerMakes) {
  Asked update = DeploymentWith(R"("cluster-watcher/grace-period":"soon")");
  update.operation = "UPDATE";
  update.more = R"(,"oldObject":)" + update.object;
  const Asked pod = {
      .object =
          R"({"apiVersion":"v1","kind":"Pod","metadata":{"annotations":)"
          R"({"cluster-watcher/grace-period":"soon"},"ownerReferences":[{"controller":true}]},)"
          R"("spec":{"containers":[{"name":"m"}]}})"};
  for (const Asked& asked : {update, pod}) {
    const auto answer = AnswerValidate(ReviewOf(asked), Shipped(), true);
    EXPECT_EQ(Parsed(answer).response["allowed"].AsBool(), true);
    EXPECT_EQ(answer.result, "warned");
  }
}

TEST(AnswerValidate, TakesManyAnnotationsInItsStride) {
  std::string annotations;
  for (int i = 0; i < 50'000; ++i) {
    annotations += (i > 0 ? "," : "") + ("\"cluster-watcher/a" + std::to_string(i)) + "\":\"\"";
  }
  Asked asked = DeploymentWith(annotations);
  asked.operation = "UPDATE";
  asked.more = R"(,"oldObject":)" + asked.object;
  const auto answer = AnswerValidate(ReviewOf(asked), Shipped(), true);
  EXPECT_EQ(Parsed(answer).response["warnings"].size(), 10u)
      << "eight of them, how many more, and why its pods get no sidecar";
  std::string zeros = "[0";
  for (int i = 0; i < 400'001; ++i) zeros += ",0";
  EXPECT_EQ(AnswerMutate(zeros + "]", Shipped()).status, 400);
}

TEST(AnswerValidate, ChecksTheFirstOfVeryManyPodTemplates) {
  const auto warnings = [](int groups) {
    std::string object = R"({"apiVersion":"ray.io/v1","kind":"RayCluster","spec":{)"
                         R"("workerGroupSpecs":[)";
    for (int i = 0; i < groups; ++i) {
      object += std::string(i > 0 ? "," : "") +
                R"({"template":{"metadata":{"annotations":{"cluster-watcher/owner":"/"}}}})";
    }
    Asked asked;
    asked.kind = R"({"group":"ray.io","version":"v1","kind":"RayCluster"})";
    asked.object = object + "]}}";
    const Parsed parsed(AnswerValidate(ReviewOf(asked), Shipped(), false));
    std::vector<std::string> texts;
    for (JsonValue one : parsed.response["warnings"].Elements()) {
      texts.emplace_back(*one.AsString());
    }
    return texts;
  };
  EXPECT_NE(warnings(64).front().find("cluster-watcher/owner"), std::string::npos);
  EXPECT_EQ(warnings(30'000).front(),
            "cluster-watcher: only the first 64 of its pod templates are checked, 29936 are not");
}

TEST(AnswerMutate, TakesAKindOfAMillionVersionsInItsStride) {
  std::string versions = "x";
  for (int i = 0; i < 1'000'000; ++i) versions += ".v1";
  Asked asked;
  asked.more = R"(,"name":"bob")";
  asked.kind = R"({"group":"","version":"v1","kind":")" + versions + "\"}";
  EXPECT_EQ(Parsed(AnswerMutate(ReviewOf(asked), Shipped())).response["allowed"].AsBool(), true);
}

TEST(AnswerValidate, WarnsOfAPodThatAsksAndHasNoWatcher) {
  const std::string asks = R"("metadata":{"labels":{"oshinko-type":"master"}},"spec":{)";
  const std::string containers = R"("containers":[{"name":"m"}])";
  const std::string sidecar = R"("initContainers":[{"name":"cluster-watcher"}],)";
  const auto result = [&](const std::string& spec, const std::string& operation) {
    const std::string object = R"({"apiVersion":"v1","kind":"Pod",)" + asks + spec + "}}";
    return AnswerValidate(ReviewOf({.operation = operation, .object = object}), Shipped(), false);
  };
  const auto answer = result(containers, "CREATE");
  const Parsed parsed(answer);
  ASSERT_EQ(parsed.response["warnings"].size(), 1u);
  EXPECT_EQ(parsed.response["warnings"].At(0).AsString()->find(
                "cluster-watcher: the pod asks for a watcher and has none: "),
            0u);
  EXPECT_EQ(result(sidecar + containers, "CREATE").result, "valid");
  EXPECT_EQ(result(containers, "UPDATE").result, "valid") << "it was made before";
}

TEST(AnswerValidate, WarnsOfAnnotationsOnTheWorkloadThatCountOnItsPods) {
  const auto deployment = [](const std::string& annotations, const std::string& more = "") {
    return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"annotations":{)" +
           annotations + "}" + more + R"(},"spec":{"template":{"metadata":{}}}})";
  };
  const std::string kind = R"({"group":"apps","version":"v1","kind":"Deployment"})";
  const std::string old = R"("cluster-watcher/inject":"true")";
  const std::string fresh = old + R"(,"cluster-watcher/dry-run":"true")";
  const auto warning = [&](const Asked& asked) {
    const Parsed parsed(AnswerValidate(ReviewOf(asked), Shipped(), true));
    EXPECT_EQ(parsed.response["allowed"].AsBool(), true);
    return std::string(parsed.response["warnings"].At(0).AsString().value_or(""));
  };
  EXPECT_EQ(
      warning({.kind = kind, .object = deployment(fresh)}),
      "cluster-watcher: annotation cluster-watcher/inject, cluster-watcher/dry-run counts only "
      "on pods: put it under metadata of the pod template");
  EXPECT_EQ(warning({.operation = "UPDATE",
                     .kind = kind,
                     .object = deployment(fresh),
                     .more = ",\"oldObject\":" + deployment(old)}),
            "cluster-watcher: annotation cluster-watcher/dry-run counts only on pods: put it under "
            "metadata of the pod template");
  EXPECT_EQ(warning({.kind = kind,
                     .object = deployment(fresh, R"(,"ownerReferences":[{"controller":true}])")}),
            "");
}

TEST(AnswerValidate, CutsLongWarnings) {
  const auto answer = AnswerValidate(
      ReviewOf(DeploymentWith(R"("cluster-watcher/owner":")" + std::string(2'000, 'x') + "\"")),
      Shipped(), false);
  const Parsed parsed(answer);
  EXPECT_LE(parsed.response["warnings"].At(0).AsString()->size(), 256u);
}

}  // namespace
}  // namespace cluster_watcher
