#include "watcher/command/inject.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "watcher/admission/injection_config.h"
#include "watcher/admission/injection_settings.h"
#include "watcher/admission/manifest/inject_manifests.h"
#include "watcher/command/manifest_file.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/shared_flags.h"
#include "watcher/command/version.h"

namespace cluster_watcher {
namespace {

constexpr int kFailed = 1;

Result<InjectionSettings, std::vector<std::string>> ReadSettings(const TextMap& flags) {
  TextMap data;
  std::string source;
  if (const auto config = flags.find("config"); config != flags.end()) {
    source = config->second + ": ";
    Result<TextMap> loaded = LoadInjectionConfig(config->second);
    if (!loaded) return Unexpected<std::vector<std::string>>{{loaded.error().message}};
    data = *std::move(loaded);
  } else {
    data["image"] = std::string("cluster-watcher:") + kVersion;
  }
  if (const auto image = flags.find("image"); image != flags.end()) data["image"] = image->second;
  ResolvedInjectionSettings resolved = ResolveInjectionSettings(data);
  if (resolved.errors.empty()) return std::move(resolved.settings);
  for (std::string& error : resolved.errors) error.insert(0, source);
  return Unexpected<std::vector<std::string>>{std::move(resolved.errors)};
}

OldImage OldImageBy(const TextMap& flags) {
  if (flags.contains("image")) return OldImage::kIsReplaced;
  return flags.contains("config") ? OldImage::kStaysWithAWarning : OldImage::kStays;
}

}  // namespace

int RunInject(const Invocation& invocation) {
  const auto settings = ReadSettings(invocation.flags);
  if (!settings) return PrintErrors(settings.error());
  std::vector<std::string> names = invocation.files;
  if (names.empty()) names.emplace_back("-");
  std::vector<std::string> errors;
  const auto files = ReadManifestFiles(names, errors);
  if (!errors.empty()) return PrintErrors(errors, kFailed);
  const auto injected = InjectManifests(files, *settings, OldImageBy(invocation.flags));
  if (!injected) return PrintErrors({injected.error().message}, kFailed);
  PrintErrors(injected->warnings, 0);
  PrintErrors(injected->annotation_problems, 0);
  const bool rejects = invocation.flags.at("reject-invalid") == "true";
  if (rejects && !injected->annotation_problems.empty()) return kFailed;
  const std::string& text = injected->text;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return PrintErrors({"the manifests can't be written to the standard output"}, kFailed);
  }
  return 0;
}

CommandDescription DescribeInject() {
  return {
      .name = "inject",
      .command = Command::kInject,
      .usage = "inject [-f FILE]... [FLAGS]",
      .help = "Add the watcher to the pods in manifests, as the webhook does in the cluster",
      .flags = {OwnFlag("filename", "FILE", "-",
                        "manifests, YAML or JSON; \"-\" is the standard input; may be repeated",
                        'f'),
                OwnFlag("config", "FILE|DIR", "",
                        "what the sidecar looks like: the manifest of the ConfigMap "
                        "cluster-watcher, or a directory with one file for each of its keys"),
                OwnFlag("image", "IMAGE", "",
                        std::string(
                            "the sidecar's image, whatever the ConfigMap says, also of a sidecar "
                            "that is there (default without --config: cluster-watcher:") +
                            kVersion + ")"),
                SwitchFlag("reject-invalid",
                           "annotations that the watcher would refuse are errors, not warnings")},
      .about =
          "Reads manifests and writes them, with the sidecar, to the standard output:\n"
          "  cluster-watcher inject -f cluster.yaml | kubectl apply -f -\n"
          "A pod gets the sidecar if its annotation cluster-watcher/inject is \"true\", or if "
          "it has\nno such annotation and its label oshinko-type is \"master\". The pods are "
          "those of Pods,\nPodTemplates, ReplicationControllers, Deployments, ReplicaSets, "
          "StatefulSets, DaemonSets,\nJobs, CronJobs, DeploymentConfigs, RayClusters, RayJobs "
          "and RayServices, also in Lists.\n"
          "A document without such a pod stays as it is, byte for byte. In one with it the "
          "comments\nare lost, but for those at its top. With any error nothing is written.\n",
      .ending =
          "\nExit codes:\n"
          "  0  done, though perhaps with warnings\n"
          "  1  the manifests can't be read, or their annotations are refused\n"
          "  2  wrong usage or settings\n"};
}

}  // namespace cluster_watcher
