#include "watcher/command/enable.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/command/driver_session.h"
#include "watcher/command/shared_flags.h"
#include "watcher/installation/enable.h"

namespace cluster_watcher {

int RunEnable(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  const EnableOrder order{invocation.words.empty() ? "" : invocation.words.front(),
                          invocation.options.at("service-account")};
  if (!IsDnsLabel(order.ns)) {
    errors.push_back("enable: " + Quoted(order.ns) +
                     " is no name of a namespace: name it, as in `cluster-watcher enable lab`");
  }
  constexpr std::string_view kSystems[] = {"kube-system", "kube-public", "kube-node-lease",
                                           "cluster-watcher"};
  if (std::count(std::begin(kSystems), std::end(kSystems), order.ns) > 0) {
    errors.push_back("enable: nothing is injected in the namespace " + order.ns +
                     ", and what watches there no guard would bind: name one of clusters");
  }
  if (order.account == "default") {
    errors.emplace_back(
        "--service-account=default: that is every pod's account, and what runs under it could do "
        "what a watcher may: give one that only masters run under, as is made without the flag");
  } else if (!IsDnsSubdomain(order.account)) {
    errors.push_back("--service-account: " + Quoted(order.account) + " is no name of an account");
  }
  return WithDriverSession(invocation, environment, std::move(stop), std::move(errors),
                           [&](DriverSession& session) {
                             SayWhere(session, "namespace " + order.ns);
                             return Enable(session.tools(), order);
                           });
}

CommandDescription DescribeEnable() {
  CommandDescription command = {
      .name = "enable",
      .command = Command::kEnable,
      .usage = "enable NAMESPACE [--service-account=NAME] [FLAGS]",
      .help = "Make what a namespace needs for watchers",
      .flags = {OwnFlag("service-account", "NAME", "cluster-watcher-master",
                        "the account that masters run under, and nothing else")},
      .about =
          "The account, its RoleBinding to the ClusterRole cluster-watcher, and the label\n"
          "cluster-watcher/enabled=true on the namespace. What is there stays as it is. Warnings "
          "tell of a\nLimitRange, a quota or a policy that refuses masters with the sidecar, and "
          "of accounts of watchers\nthat may make workloads too, which the guard refuses them.\n",
      .ending =
          "\nExit codes:\n"
          "  0  enabled\n"
          "  1  there is no such namespace, or it could not be written\n"
          "  2  wrong usage or settings\n"};
  return WithSettingsOf(std::move(command), {"kubeconfig", "context"});
}

}  // namespace cluster_watcher
