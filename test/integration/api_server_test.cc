// What an API server answers. The same requests go to the small Kubernetes and to a real one, which
// sets the standard. Custom kinds are in custom_resources_test.cc.
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

// Each story has its own namespace. Its lines are "STATUS METHOD TARGET [BODY] [| HOLD]..."; an
// indented line continues the previous one.
// METHOD: may follow a sign for the caller (~ the account that {token} belongs to, ! a stranger,
//   - nobody) and a media type in brackets: the accepted one, or the body's.
// TARGET: "configmaps/a?limit=1", in the namespace, or a whole path.
// BODY: JSON, or a name, optionally followed by a space and further metadata.
// HOLD: "details.name=a": this field has this value; "~a": it contains a; ">a": {a} stands for its
//   value from now on. Lists have `names`, each answer a @type. A GET is repeated until it fits.
constexpr char kStories[] = R"stories(
# Missing
404 GET deployments/bob | kind=Status | apiVersion=v1 | metadata={} | status=Failure | code=404
  | reason=NotFound | details={"name":"bob","group":"apps","kind":"deployments"}
  | message=deployments.apps "bob" not found
404 GET /api/v1/namespaces/none/pods/x | details={"name":"x","kind":"pods"}
404 GET /apis/apps/v1/namespaces/{ns}/gadgets/x | details={}
  | message=the server could not find the requested resource
404 GET pods/a/scale | details={}
404 GET /apis/none.example/v1/namespaces/{ns}/gadgets | =404 page not found{newline}
  | @type=text/plain; charset=utf-8
404 GET /apis/apps/v1beta1/namespaces/{ns}/deployments | details={}
404 GET /apis/apps/v1beta1 | details={}
404 GET /nothing | =404 page not found{newline}

# Forbids
201 POST serviceaccounts watcher
201 POST serviceaccounts/watcher/token {} | status.token>token
404 POST serviceaccounts/none/token {}
403 ~GET deployments/bob | details={"name":"bob","group":"apps","kind":"deployments"}
  | message=deployments.apps "bob" is forbidden: User "system:serviceaccount:{ns}:watcher" cannot
  get resource "deployments" in API group "apps" in the namespace "{ns}"
403 ~GET /api/v1/nodes | message=nodes is forbidden: User "system:serviceaccount:{ns}:watcher"
  cannot list resource "nodes" in API group "" at the cluster scope
403 -GET /api | message=forbidden: User "system:anonymous" cannot get path "/api"
200 -GET /version | gitVersion=v1.36.3
401 !GET /apis/nothing/v1/x | reason=Unauthorized
201 POST deployments {deployment}
201 POST roles {"metadata":{"name":"watcher"},"rules":[
    {"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["bob"],
      "verbs":["get","list"]},
    {"apiGroups":["apps"],"resources":["deployments/scale"],"verbs":["get"]}]}
201 POST rolebindings {binding}
200 ~GET deployments/bob
403 ~GET deployments/eve
403 ~GET deployments
200 ~GET deployments?fieldSelector=metadata.name%3Dbob
403 ~GET deployments?fieldSelector=metadata.name%3Deve
200 ~GET deployments/bob/scale
201 POST /apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews {
    "metadata":{"namespace":"{ns}"},"spec":{"user":"system:serviceaccount:{ns}:watcher",
      "resourceAttributes":{"verb":"get","group":"apps","resource":"deployments",
        "namespace":"{ns}","name":"bob"}}} | kind=LocalSubjectAccessReview | status.allowed=true
201 POST /apis/authorization.k8s.io/v1/subjectaccessreviews {"spec":{
    "user":"system:serviceaccount:{ns}:watcher",
    "resourceAttributes":{"verb":"get","group":"apps","resource":"deployments","name":"bob"}}}
  | kind=SubjectAccessReview | status.allowed=false
403 ~POST /apis/authorization.k8s.io/v1/subjectaccessreviews {"spec":{"user":"eve",
    "resourceAttributes":{"verb":"get","resource":"pods"}}}
403 ~DELETE deployments/bob
403 ~GET /apis/apps/v1/namespaces/default/deployments/bob
200 ~GET /apis
201 POST /apis/rbac.authorization.k8s.io/v1/clusterroles {"metadata":{"name":"{ns}"},
    "rules":[{"apiGroups":[""],"resources":["*"],"verbs":["get"]}]}
201 POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings {"metadata":{"name":"{ns}"},
    "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"{ns}"},
    "subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io",
      "name":"system:serviceaccounts:{ns}"}]}
200 ~GET /api/v1/namespaces/kube-system
404 ~GET /api/v1/nodes/n
403 ~GET /api/v1/nodes
200 DELETE /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{ns}
200 DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/{ns}

# Conflicts
201 POST configmaps a | metadata.resourceVersion>old
409 POST configmaps a | reason=AlreadyExists | message=configmaps "a" already exists
200 PATCH configmaps/a {"metadata":{"resourceVersion":"{old}","labels":{"x":"y"}}}
409 PATCH configmaps/a {"metadata":{"resourceVersion":"{old}","labels":{"x":"z"}}}
  | message=Operation cannot be fulfilled on configmaps "a": the object has been modified; please
  apply your changes to the latest version and try again
409 PUT configmaps/a a "resourceVersion":"{old}"
409 DELETE configmaps/a {"preconditions":{"uid":"other"}} | reason=Conflict
  | details={"name":"a","kind":"ConfigMap"}
409 DELETE configmaps/a {"preconditions":{"resourceVersion":"{old}"}}
200 GET configmaps/a

# Refuses
201 POST configmaps a
400 POST configmaps {
400 POST configmaps {deep}
400 POST configmaps {"kind":"Secret","apiVersion":"v1","metadata":{"name":"b"}}
400 POST configmaps b "namespace":"other"
400 PUT configmaps/a b
400 GET configmaps?labelSelector=a%20b
400 GET configmaps?fieldSelector=data.x%3D1
422 POST configmaps?dryRun=Some b | reason=Invalid
415 [text/plain]PATCH configmaps/a {}
405 POST configmaps/a {} | reason=MethodNotAllowed
405 POST /api/v1/configmaps b
406 [text/csv]GET configmaps/a
422 POST configmaps Bad_Name | reason=Invalid | details.kind=ConfigMap
422 POST configmaps {"metadata":{}}
422 POST configmaps {"metadata":{"name":"b","ownerReferences":[{"kind":"X"}]}}
422 DELETE configmaps/a {"propagationPolicy":"Sideways"}
422 POST deployments {"metadata":{"name":"a"},"spec":{}} | message~Deployment.apps "a" is invalid
  | message~spec.selector: Required value
201 POST deployments {deployment}
422 PATCH deployments/bob {"metadata":{"uid":"other"}} | message=Deployment.apps "bob" is invalid:
  metadata.uid: Invalid value: "other": field is immutable
422 PATCH deployments/bob/scale {"spec":{"replicas":-1}}
422 POST events {event}}}
201 POST events {event},"namespace":"{ns}"}} | note=n | metadata.name>made
200 GET /api/v1/namespaces/{ns}/events/{made} | message=n | involvedObject.kind=Namespace
422 POST events {"metadata":{"name":"e"},"note":"n"}

# Reads
201 POST deployments {idle} | metadata.uid>uid
200 GET deployments/bob | kind=Deployment | apiVersion=apps/v1 | metadata.uid={uid}
200 GET deployments?fieldSelector=metadata.name%3Dbob | kind=DeploymentList | apiVersion=apps/v1
  | names=bob | items.0.kind=- | items.0.metadata.uid={uid}
200 GET deployments?fieldSelector=metadata.name%3Deve | items=[]
200 GET deployments?fieldSelector=metadata.namespace%3D{ns},metadata.name!%3Dbob | items=[]
200 GET /api/v1/namespaces/misspelt/pods | items=[]
200 [application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1]GET deployments/bob
  | kind=PartialObjectMetadata | apiVersion=meta.k8s.io/v1 | metadata.name=bob | spec=-
200 [application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json]GET
  deployments | kind=PartialObjectMetadataList | items.0.kind=PartialObjectMetadata | items.0.spec=-
406 [application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1]GET deployments
200 GET deployments/bob/scale | kind=Scale | apiVersion=autoscaling/v1 | metadata.uid={uid}
  | spec={} | status={"replicas":0,"selector":"app=bob"}
200 PATCH deployments/bob/scale {"spec":{"replicas":2}} | spec={"replicas":2}
200 GET deployments/bob | spec.replicas=2 | status.replicas=2
200 PUT deployments/bob/scale bob "namespace":"{ns}" | spec={}
409 PUT deployments/bob/scale bob "namespace":"{ns}","resourceVersion":"1"
201 POST configmaps a "labels":{"c":"x","t":"1"}
201 POST configmaps b "labels":{"c":"y"}
201 POST configmaps e "labels":{"c":""}
200 GET configmaps?labelSelector=c%3Dx | names=a
200 GET configmaps?labelSelector=c=x | names=a
200 GET configmaps?labelSelector=c%3D%3Dy | names=b
200 GET configmaps?labelSelector=c= | names=e
200 GET configmaps?labelSelector=c | names=a b e
200 GET configmaps?labelSelector=!c | names=kube-root-ca.crt
200 GET configmaps?labelSelector=c!=x | names=b e kube-root-ca.crt
200 GET configmaps?labelSelector=c%20in%20(x,y) | names=a b
200 GET configmaps?labelSelector=c+notin+(x,y) | names=e kube-root-ca.crt
200 GET configmaps?labelSelector=c,t | names=a
200 GET configmaps?limit=1 | metadata.remainingItemCount=3
200 GET configmaps?labelSelector=c&limit=2 | names=a b | metadata.continue>rest
201 POST configmaps d "labels":{"c":""}
200 GET configmaps?labelSelector=c&limit=5&continue={rest} | names=e | metadata.continue=-
200 DELETE configmaps?labelSelector=c%3Dx | kind=ConfigMapList | names=a
200 GET configmaps?labelSelector=c | names=b d e

# Writes
201 POST configmaps a "annotations":{"x":"1","y":"2"}
200 PATCH configmaps/a {"metadata":{"annotations":{"x":null,"z":"3"}}}
  | metadata.annotations={"y":"2","z":"3"} | metadata.resourceVersion>version
200 PATCH configmaps/a {"metadata":{"annotations":{"z":"3"}}} | metadata.resourceVersion={version}
200 [application/json-patch+json]PATCH configmaps/a [{"op":"add","path":"/data","value":
  {"x":"1"}},{"op":"add","path":"/metadata/labels","value":{"a/b":"1"}},
  {"op":"replace","path":"/metadata/labels/a~1b","value":"2"}] | metadata.labels={"a/b":"2"}
  | data={"x":"1"}
422 [application/json-patch+json]PATCH configmaps/a [{"op":"test","path":"/data/x","value":"2"}]
201 POST configmaps {"metadata":{"generateName":"x-"}} | metadata.name~x-
201 POST configmaps?fieldManager=w {"metadata":{"name":"t"},"data":{"x":"1"}}
  | metadata.managedFields.0.manager=w | metadata.managedFields.0.time~20 | metadata.managedFields.0.operation=Update
  | metadata.managedFields.0.fieldsV1.f:data.f:x={}
201 POST deployments {idle} | metadata.generation=1
200 PATCH deployments/bob {"metadata":{"labels":{"l":"1"}}} | metadata.generation=1
200 PATCH deployments/bob {"metadata":{"annotations":{"l":"1"}}} | metadata.generation=2
200 PATCH deployments/bob {"spec":{"paused":true}} | metadata.generation=3
200 PATCH deployments/bob {"status":{"replicas":9}} | status.replicas=-
200 [application/strategic-merge-patch+json]PATCH deployments/bob {"spec":{"template":{"spec":{
    "$setElementOrder/containers":[{"name":"main"},{"name":"c"}],
    "containers":[{"name":"main","image":"new"},{"name":"c","image":"d"}]}}}}
  | spec.template.spec.containers.0.name=main | spec.template.spec.containers.0.image=new
  | spec.template.spec.containers.1.name=c
201 POST configmaps?dryRun=All z
404 GET configmaps/z
200 PATCH deployments/bob?dryRun=All {"spec":{"replicas":7}} | spec.replicas=7
200 DELETE deployments/bob {"dryRun":["All"]} | status=Success
200 DELETE deployments?dryRun=All
200 GET deployments/bob | spec.replicas=0 | metadata.deletionTimestamp=-

# Deletes
201 POST deployments {deployment} | metadata.uid>uid
200 GET pods | items.0.metadata.ownerReferences.0.controller=true
200 DELETE deployments/bob {"propagationPolicy":"Background","preconditions":{"uid":"{uid}"}}
  | status=Success
  | details={"name":"bob","group":"apps","kind":"deployments","uid":"{uid}"}
404 DELETE deployments/bob
200 GET replicasets | items=[]
200 GET pods | items=[]
201 POST deployments {deployment}
200 GET deployments/bob | status.replicas=1
200 DELETE deployments/bob {foreground} | metadata.finalizers=["foregroundDeletion"]
404 GET deployments/bob
200 GET pods | items=[]
201 POST deployments {deployment}
200 GET deployments/bob | status.replicas=1
201 POST configmaps {stray}
404 GET configmaps/stray
200 DELETE deployments/bob?propagationPolicy=Orphan | metadata.finalizers=["orphan"]
404 GET deployments/bob
200 GET replicasets | items.0.metadata.ownerReferences=- | items.1=-
200 GET pods | items.0.metadata.ownerReferences.0.kind=ReplicaSet
200 DELETE replicasets
200 GET pods | items=[]
# OrphansByDefault
201 POST replicationcontrollers {"metadata":{"name":"r"},"spec":{"template":{"metadata":{
    "labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}}}
  | spec.replicas=1 | spec.selector={"a":"b"}
  | spec.template.spec.terminationGracePeriodSeconds=30
200 GET pods | items.0.metadata.name>pod | names={pod}
201 POST configmaps {stray}
404 GET configmaps/stray
200 DELETE replicationcontrollers/r
404 GET replicationcontrollers/r
200 GET pods | names={pod} | items.0.metadata.ownerReferences=-
201 POST replicationcontrollers {"metadata":{"name":"r"},"spec":{"template":{"metadata":{
    "labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}}}
200 GET replicationcontrollers/r | status.replicas=1
200 GET pods | names={pod} | items.0.metadata.ownerReferences.0.kind=ReplicationController
200 DELETE replicationcontrollers/r {"propagationPolicy":"Background"}
200 GET pods | items=[]

# Holds
201 POST configmaps a {held}
200 DELETE configmaps/a | kind=ConfigMap | metadata.deletionGracePeriodSeconds=0
  | metadata.deletionTimestamp>since
200 DELETE configmaps/a | metadata.deletionTimestamp={since}
422 PATCH configmaps/a {"metadata":{"finalizers":["test.example/held","test.example/more"]}}
200 PATCH configmaps/a {release}
404 GET configmaps/a
201 POST configmaps owner | metadata.uid>uid
201 POST configmaps blocks {held},"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap",
  "name":"owner","uid":"{uid}","blockOwnerDeletion":true}]
200 DELETE configmaps/owner {foreground} | metadata.finalizers=["foregroundDeletion"]
200 GET configmaps/blocks | metadata.deletionTimestamp~T
200 GET configmaps/owner
200 PATCH configmaps/blocks {release}
404 GET configmaps/owner
201 POST persistentvolumeclaims {claim}
201 POST pods {"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"a","image":"b"}],
    "volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}}
200 DELETE persistentvolumeclaims/c
200 GET persistentvolumeclaims/c | metadata.deletionTimestamp~T
200 DELETE pods/p {"gracePeriodSeconds":0}
404 GET persistentvolumeclaims/c

# EndsPods
201 POST pods {alone}
200 DELETE pods/p | kind=Pod
404 GET pods/p
201 POST pods {alone}
201 POST pods/p/eviction {"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}
404 GET pods/p
404 POST pods/p/eviction {"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}
201 POST pods {"metadata":{"name":"q"},"spec":{"nodeName":"n","containers":[{"name":"a","image":"b"}]}}
200 DELETE pods/q | metadata.deletionGracePeriodSeconds=30 | metadata.deletionTimestamp~T
200 DELETE pods/q {"gracePeriodSeconds":60} | metadata.deletionGracePeriodSeconds=30
200 DELETE pods/q {"gracePeriodSeconds":5} | metadata.deletionGracePeriodSeconds=5
200 DELETE pods/q {"gracePeriodSeconds":0}
404 GET pods/q

# Collects
201 POST configmaps a | metadata.uid>a
201 POST configmaps b | metadata.uid>b
201 POST configmaps two "ownerReferences":[
    {"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"{a}"},
    {"apiVersion":"v1","kind":"ConfigMap","name":"b","uid":"{b}"}]
201 POST configmaps wrong "ownerReferences":[
    {"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"another"}]
201 POST configmaps foreign "ownerReferences":[
    {"apiVersion":"none.example/v1","kind":"Gadget","name":"a","uid":"some"}]
404 GET configmaps/wrong
200 DELETE configmaps/a
200 GET configmaps/two | metadata.ownerReferences.0.name=b | metadata.ownerReferences.1=-
200 DELETE configmaps/b
404 GET configmaps/two
200 GET configmaps/foreign

# RunsDeployments
201 POST deployments {deployment}
200 GET deployments/bob | status.replicas=1
200 GET replicasets | items.0.metadata.annotations.a=1
  | items.0.metadata.labels.pod-template-hash>hash | names=bob-{hash}
  | items.0.spec.selector.matchLabels.pod-template-hash={hash}
200 GET pods?labelSelector=app%3Dbob,pod-template-hash%3D{hash} | items.0.metadata.name>pod
  | items.0.status.phase=Pending
  | items.0.metadata.ownerReferences~"controller":true,"blockOwnerDeletion":true
200 PATCH deployments/bob {"metadata":{"annotations":{"m":"1"}}}
200 GET replicasets/bob-{hash} | metadata.annotations.m=1
200 PATCH deployments/bob {"metadata":{"annotations":{"m":null}}} | metadata.generation>generation
200 GET deployments/bob | status.observedGeneration={generation}
200 GET replicasets/bob-{hash} | metadata.annotations.m=1
200 GET pods | names={pod}
200 PATCH deployments/bob {"spec":{"template":{"spec":{"hostname":"x"}}}}
200 GET deployments/bob | status.replicas=2 | status.updatedReplicas=1
200 GET pods/{pod}
200 PATCH deployments/bob {"spec":{"strategy":{"type":"Recreate","rollingUpdate":null},
    "template":{"spec":{"hostname":"y"}}}}
404 GET pods/{pod}
200 GET deployments/bob | status.replicas=1 | status.updatedReplicas=1

# RunsOthers
201 POST statefulsets {set}
200 GET persistentvolumeclaims/v-s-0 | metadata.labels={"a":"b"}
  | metadata.ownerReferences.0.kind=StatefulSet
200 GET pods | names=s-0
200 DELETE statefulsets/s
200 GET pods | items=[]
200 GET persistentvolumeclaims | items=[]
201 POST jobs {"metadata":{"name":"j"},"spec":{"suspend":true,"template":{"spec":{
    "restartPolicy":"Never","containers":[{"name":"a","image":"b"}]}}}}
  | spec.parallelism=1 | spec.completions=1
200 GET jobs/j | status.conditions.0.type=Suspended | status.conditions.0.status=True
200 GET pods | items=[]
200 PATCH jobs/j {"spec":{"suspend":false}}
200 GET jobs/j | status.active=1
200 GET pods | items.0.metadata.name>pod
200 PATCH pods/{pod}/status {"status":{"phase":"Succeeded"}}
200 GET jobs/j | status.conditions~"type":"Complete","status":"True"
200 GET pods | names={pod}
201 POST services {service}
200 GET /api/v1/namespaces/{ns}/endpoints/s | metadata.labels.c=x | metadata.ownerReferences=-
200 DELETE services/s | kind=Service
404 GET /api/v1/namespaces/{ns}/endpoints/s

# Namespaces
201 POST namespaces {ns}-x
200 GET namespaces/{ns}-x | status.phase=Active
200 GET /api/v1/namespaces/{ns}-x/serviceaccounts/default
200 GET /api/v1/namespaces/{ns}-x/configmaps/kube-root-ca.crt
201 POST /api/v1/namespaces/{ns}-x/configmaps held {held}
200 GET /api/v1/configmaps?fieldSelector=metadata.name%3Dheld,metadata.namespace%3D{ns}-x
  | names=held
200 DELETE namespaces/{ns}-x | status.phase=Terminating
200 GET /api/v1/namespaces/{ns}-x/configmaps | names=held
403 POST /api/v1/namespaces/{ns}-x/configmaps new | details.causes~NamespaceTerminating
  | message=configmaps "new" is forbidden: unable to create new content in namespace {ns}-x because
  it is being terminated
200 PATCH /api/v1/namespaces/{ns}-x/configmaps/held {release}
404 GET namespaces/{ns}-x

# Discovers
200 GET /api | versions=["v1"]
200 GET /apis | kind=APIGroupList | ~"name":"apps"
200 GET /api/v1 | ~{"name":"replicationcontrollers/scale"
200 GET /apis/batch | preferredVersion.groupVersion=batch/v1
200 [{aggregated},application/json]GET /apis | @type={aggregated} | kind=APIGroupDiscoveryList
  | apiVersion=apidiscovery.k8s.io/v2
  | ~{"metadata":{"name":"policy"},"versions":[{"version":"v1","resources":[{"resource":
  | ~"scope":"Namespaced","singularResource":"poddisruptionbudget","verbs":["create","delete",
  | ~"shortNames":["pdb"],"subresources":[{"subresource":"status","responseKind":{"group":"",
  | ~"verbs":["get","patch","update"]}]}],"freshness":"Current"}]}
200 [{aggregated}]GET /api | ~"resource":"pods","responseKind":{"group":"","version":"",
406 [{aggregated}]GET /apis/apps
)stories";

struct Story {
  std::string name;
  std::vector<std::string> steps;
};
void PrintTo(const Story& story, std::ostream* out) { *out << story.name; }

std::vector<Story> Stories() {
  std::vector<Story> stories;
  std::istringstream lines(kStories);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) {
      stories.push_back({line.substr(2), {}});
    } else if (line.starts_with("  ")) {
      stories.back().steps.back() += " " + line.substr(line.find_first_not_of(' '));
    } else if (!line.empty()) {
      stories.back().steps.push_back(line);
    }
  }
  return stories;
}

// Returns the start of `text` up to `end`, and removes both from `text`.
std::string Cut(std::string& text, const std::string& end) {
  const std::size_t at = std::min(text.find(end), text.size());
  std::string first = text.substr(0, at);
  text.erase(0, at + end.size());
  return first;
}

std::string Look(const HttpResponse& answer, JsonValue value, std::string path) {
  if (path.empty()) return answer.body;
  if (path == "@type") return answer.content_type;
  if (path == "names") {
    std::string names;
    for (const JsonValue item : value["items"].Elements()) {
      if (!names.empty()) names += " ";
      names += item["metadata"]["name"].AsString().value_or("?");
    }
    return names;
  }
  while (!path.empty()) {
    const std::string key = Cut(path, ".");
    value = value.IsArray() ? value.At(std::stoul(key)) : value[key];
  }
  if (!value.Exists()) return "-";
  return value.AsString() ? std::string(*value.AsString()) : value.ToText();
}

class ApiServerAnswers : public testing::TestWithParam<Story> {
 protected:
  void SetUp() override {
    static int number = 0;
    words_["ns"] = "api-" + std::to_string(getpid()) + "-" + std::to_string(++number);
    Api& api = kubernetes->GetApi();
    api.Create("namespaces", "", NamedOf({words_["ns"]}));
    ASSERT_TRUE(Eventually([&] { return api.Exists("serviceaccounts", words_["ns"], "default"); }));
    auto transport = CurlTransport::Create(kubernetes->GetServer().Admin());
    ASSERT_TRUE(transport) << transport.error().message;
    transport_ = *std::move(transport);
  }
  void TearDown() override { kubernetes->GetApi().Delete("namespaces", "", words_["ns"]); }

  // Returns "" if the answer is as expected.
  std::string Try(const std::string& step) {
    std::string holds = Filled(step);
    HttpRequest request;
    const std::string status = Cut(holds, " ");
    request = RequestOf(Cut(holds, " | "));
    std::string differences;
    const auto as_expected = [&] {
      return (differences = Differences(request, status, holds)).empty();
    };
    if (request.method != HttpMethod::kGet) as_expected();
    if (request.method == HttpMethod::kGet) (void)Eventually(as_expected);
    return differences;
  }

 private:
  std::string Filled(std::string text) const {
    for (const auto& [word, value] : words_) {
      const std::string place = "{" + word + "}";
      for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos;) {
        text.replace(at, place.size(), value);
      }
    }
    return text;
  }

  HttpRequest RequestOf(std::string text) const {
    HttpRequest request;
    request.bearer_token = kubernetes->GetServer().Admin().token;
    if (text[0] == '~') request.bearer_token = words_.at("token");
    if (text[0] == '!') request.bearer_token = "stolen";
    if (text[0] == '-') request.bearer_token = "";
    if (std::string_view("~!-").find(text[0]) != std::string_view::npos) text.erase(0, 1);
    std::string type;
    if (text[0] == '[') type = Cut(text, "]").substr(1);
    const std::string method = Cut(text, " ");
    for (const HttpMethod known :
         {HttpMethod::kPost, HttpMethod::kPatch, HttpMethod::kPut, HttpMethod::kDelete}) {
      if (method == ToString(known)) request.method = known;
    }
    request.target = Cut(text, " ");
    if (request.target[0] != '/') {
      const std::size_t end = std::min(request.target.find_first_of("/?"), request.target.size());
      const std::string plural = request.target.substr(0, end);
      request.target.replace(0, end, PathOf(plural, words_.at("ns")));
    }
    if (!text.empty() && text[0] != '{' && text[0] != '[') {
      const std::string name = Cut(text, " ");
      text = R"({"metadata":{"name":")" + name + (text.empty() ? "\"" : "\"," + text) + "}}";
    }
    request.body = text;
    if (!text.empty()) {
      request.content_type = request.method == HttpMethod::kPatch ? "application/merge-patch+json"
                                                                  : "application/json";
    }
    if (!type.empty()) (text.empty() ? request.accept : request.content_type) = type;
    return request;
  }

  std::string Differences(const HttpRequest& request, const std::string& status,
                          std::string holds) {
    const HttpResult answer = std::move(transport_->Perform({&request, 1}, 1, {}).front());
    if (!answer) return answer.error().message;
    const auto document = JsonDocument::Parse(answer->body);
    std::string differences;
    if (std::to_string(answer->status) != status) {
      differences = "HTTP " + std::to_string(answer->status);
    }
    while (!holds.empty()) {
      const std::string hold = Filled(Cut(holds, " | "));  // with what earlier holds found
      const std::size_t sign = hold.find_first_of("=~>");
      const std::string wanted = hold.substr(sign + 1);
      const std::string found =
          Look(*answer, document ? document->root() : JsonValue(), hold.substr(0, sign));
      if (hold[sign] == '>') words_[wanted] = found;
      if ((hold[sign] == '=' && found != wanted) ||
          (hold[sign] == '~' && found.find(wanted) == std::string::npos)) {
        differences += "\n  " + hold + ", but: " + found;
      }
    }
    return differences.empty() ? "" : differences + "\n" + answer->body;
  }

  TextMap words_ = {
      {"newline", "\n"},
      {"deep", std::string(20'000, '[')},
      {"deployment", DeploymentOf({{"bob", {}, {{"a", "1"}}}})},
      {"idle", DeploymentOf({{"bob"}, 0})},
      {"binding", RoleBindingOf({"watcher"}, "watcher", "watcher")},
      {"claim", ClaimOf({"c"})},
      {"service", ServiceOf({"s", {{"c", "x"}}}, "a")},
      {"held", R"("finalizers":["test.example/held"])"},
      // Once this one is gone, the garbage collector has seen everything before it.
      {"stray", R"({"metadata":{"name":"stray","ownerReferences":[
          {"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"another"}]}})"},
      {"release", R"({"metadata":{"finalizers":null}})"},
      {"foreground", R"({"propagationPolicy":"Foreground"})"},
      {"aggregated", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
      {"alone", R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"b"}]}})"},
      {"event", R"({"metadata":{"generateName":"e-"},"type":"Warning","reason":"R","note":"n",
          "eventTime":"2026-01-01T00:00:00.000000Z","action":"A","reportingController":"c/w",
          "reportingInstance":"i","regarding":{"kind":"Namespace","name":"{ns}")"},
      {"set", R"({"metadata":{"name":"s"},"spec":{"replicas":2,"serviceName":"none",
          "persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"},
          "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b","c":"d"}},
            "spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"a","image":"b"}]}},
          "volumeClaimTemplates":[{"metadata":{"name":"v"},"spec":{
            "accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}})"},
  };
  std::unique_ptr<CurlTransport> transport_;
};

TEST_P(ApiServerAnswers, AsTheMeasureSays) {
  for (const std::string& step : GetParam().steps) EXPECT_EQ(Try(step), "") << step;
}

INSTANTIATE_TEST_SUITE_P(All, ApiServerAnswers, testing::ValuesIn(Stories()),
                         [](const auto& story) { return story.param.name; });

}  // namespace
}  // namespace cluster_watcher::integration
