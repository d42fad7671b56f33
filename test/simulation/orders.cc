#include "test/simulation/orders.h"

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::Find;
using small_kubernetes::HasElements;
using small_kubernetes::TextOf;
using small_kubernetes::Value;

constexpr const char* kHold = "cluster-watcher/hold-until";
constexpr const char* kInject = "cluster-watcher/inject";
constexpr const char* kHealth = "simulation/health";
constexpr std::string_view kOwnerFlag = "--owner=";

}  // namespace

Orders Orders::Read(const Value& pod) {
  Orders orders;
  if (const Value* annotations = Find(pod, "metadata", "annotations")) {
    orders.held = Find(*annotations, kHold) != nullptr;
    orders.opted_out = TextOf(Find(*annotations, kInject)) == "false";
    const auto health = TextOf(Find(*annotations, kHealth));
    if (health == "unready") orders.health = Health::kUnready;
    if (health == "pending") orders.health = Health::kPending;
  }
  const Value* containers = Find(pod, "spec", "containers");
  if (!HasElements(containers)) return orders;
  const Value* arguments = Find((*containers)[0], "args");
  if (!HasElements(arguments)) return orders;
  for (const Value& argument : arguments->GetArray()) {
    const auto text = TextOf(&argument);
    if (text.starts_with(kOwnerFlag)) orders.owner = text.substr(kOwnerFlag.size());
    if (text == "--dry-run") orders.dry_run = true;
  }
  return orders;
}

std::string Orders::Containers() const {
  std::string arguments;
  if (!owner.empty()) arguments = "\"" + std::string(kOwnerFlag) + owner + "\"";
  if (dry_run) arguments += (arguments.empty() ? "" : ",") + std::string("\"--dry-run\"");
  return R"("containers":[{"name":"cluster-watcher","image":"cluster-watcher","args":[)" +
         arguments + "]}]";
}

std::string Orders::Patch() const {
  const char* ill = health == Health::kUnready ? "\"unready\"" : "\"pending\"";
  return std::string(R"({"spec":{"template":{"metadata":{"annotations":{")") + kHold +
         "\":" + (held ? "\"2030-01-01T00:00:00Z\"" : "null") + ",\"" + kInject +
         "\":" + (opted_out ? "\"false\"" : "null") + ",\"" + kHealth +
         "\":" + (health == Health::kReady ? "null" : ill) + R"(}},"spec":{)" + Containers() +
         "}}}}";
}

}  // namespace cluster_watcher::simulation
