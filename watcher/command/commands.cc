#include "watcher/command/commands.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "watcher/command/version.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {
namespace {

Flag SettingFlag(const SettingDescription& setting) {
  return {.name = setting.name,
          .placeholder = setting.placeholder,
          .default_value = setting.default_value,
          .help = setting.help,
          .letter = setting.name == "namespace" ? 'n' : '\0',
          .note = setting.from_annotation ? "" : " (not by annotation)",
          .is_own = false};
}

Flags SettingFlags() {
  Flags flags;
  for (const SettingDescription& setting : SettingDescriptions()) {
    flags.push_back(SettingFlag(setting));
  }
  return flags;
}

// A flag of another command with the name and meaning of a setting of watch.
Flag LikeSetting(std::string_view name) {
  const std::vector<SettingDescription>& all = SettingDescriptions();
  const auto found = std::find_if(
      all.begin(), all.end(), [name](const SettingDescription& one) { return one.name == name; });
  Flag flag = SettingFlag(*found);
  flag.note.clear();
  flag.is_own = true;
  return flag;
}

// How a command of the driver's side, or of people, reaches its cluster.
void AddConnection(Flags& flags) {
  for (const char* name : {"namespace", "cluster-label", "kubeconfig", "context"}) {
    Flag flag = LikeSetting(name);
    flag.is_own = false;
    if (flag.name == "namespace") {
      flag.help =
          "the cluster's; without it $POD_NAMESPACE, else the kubeconfig context's, else the "
          "service account's, else default";
    }
    flags.push_back(std::move(flag));
  }
}

Flag AppFlag(const char* help) {
  return {.name = "app", .placeholder = "OWNER", .default_value = "", .help = help, .note = ""};
}

constexpr const char* kUsualExits =
    "\nExit codes:\n"
    "  0  done\n"
    "  2  wrong usage\n";

constexpr const char* kOwnerForms =
    "OWNER is written as kubectl writes an object, deployment/bob, or as a bare name; a pod means "
    "what\ncontrols it.\n";

CommandDescription Run() {
  const auto flag = [](const char* name, const char* placeholder, const char* default_value,
                       const char* help) {
    return Flag{.name = name,
                .placeholder = placeholder,
                .default_value = default_value,
                .help = help,
                .note = ""};
  };
  CommandDescription command = {
      .name = "run",
      .command = Command::kRun,
      .usage =
          "run [--cluster=NAME] [--app=OWNER] [-f FILE]... [--ephemeral] [FLAGS] -- PROGRAM "
          "[ARGUMENT]...",
      .help = "Run a driver's program with its cluster, and delete the cluster when it has ended",
      .flags = {AppFlag("the owner of the application; without it the root of the pod $POD_NAME"),
                {.name = "filename",
                 .placeholder = "FILE",
                 .default_value = "",
                 .help = "the cluster's manifests, of which it is created where there is none; may "
                         "be repeated",
                 .letter = 'f',
                 .note = ""},
                flag("ephemeral", "true|false", "false",
                     "a cluster that is created is the application's own, and goes with it"),
                flag("on-failure", "delete|keep", "",
                     "what becomes of the cluster if the program fails (default delete, and keep "
                     "for a Job, which may try again)"),
                flag("after", "exit|wait", "exit",
                     "what comes after: wait sleeps until SIGTERM, so that no Deployment starts "
                     "the program again"),
                flag("timeout", "DURATION", "60s",
                     "how long a cluster is waited for that is not ready"),
                flag("stop-timeout", "DURATION", "10s",
                     "how long the program has to end after SIGTERM or SIGINT")},
      .about = std::string(
                   "The cluster's name is --cluster, else $CLUSTER_WATCHER_CLUSTER, else "
                   "$OSHINKO_CLUSTER_NAME, else the\none that the owner uses or that names the "
                   "owner, else a new one. The "
                   "program gets OSHINKO_CLUSTER_NAME and\nOSHINKO_SPARK_MASTER, and the signals; "
                   "its end is the application's. A shared cluster is used\nand not deleted.\n") +
               kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  125    its own failure before the program, wrong usage included\n"
          "  126    the program can't be executed\n"
          "  127    there is no such program\n"
          "  128+n  signal n ended it\n"
          "  else   the program's\n",
      .takes_program = true};
  AddConnection(command.flags);
  for (const char* name : {"cluster", "log-level", "log-format"}) {
    Flag setting = LikeSetting(name);
    setting.is_own = false;
    if (setting.name == "log-level") setting.default_value = "warn";
    if (setting.name == "cluster") setting.help = "the cluster; without it as said above";
    command.flags.push_back(std::move(setting));
  }
  return command;
}

CommandDescription Create() {
  CommandDescription command = {
      .name = "create",
      .command = Command::kCreate,
      .usage = "create CLUSTER -f FILE... [--app=OWNER [--ephemeral]] [--timeout=60s] [FLAGS]",
      .help = "Create a cluster from manifests",
      .flags = {{.name = "filename",
                 .placeholder = "FILE",
                 .default_value = "",
                 .help = "the cluster's manifests, YAML or JSON, or a directory with such files; "
                         "\"-\" is the standard input; may be repeated",
                 .letter = 'f',
                 .note = ""},
                AppFlag("the owner of the application that uses it"),
                {.name = "ephemeral",
                 .placeholder = "true|false",
                 .default_value = "false",
                 .help = "the cluster is the application's own, and goes with it",
                 .note = ""},
                {.name = "timeout",
                 .placeholder = "DURATION",
                 .default_value = "60s",
                 .help =
                     "how long a cluster is waited for that goes or isn't ready, and what fails is "
                     "tried again",
                 .note = ""}},
      .about =
          std::string("$(CLUSTER) in the manifests stands for the name. They need exactly one "
                      "master: a workload whose\npods are labelled oshinko-type: master, or a "
                      "framework's cluster. All objects get the cluster's\nlabel. What is there "
                      "is never changed: saying it again makes what is missing. A cluster that "
                      "is complete is used as it is.\n") +
          kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0      created, or complete already\n"
          "  1      refused, or not all could be made: run it again\n"
          "  2      wrong usage, settings or manifests\n"
          "  4      unknown: the owner or the cluster could not be read\n"
          "  11     it is another application's, or the owner uses another cluster\n"
          "  12     it is condemned or going, or somebody else makes or uses what isn't complete, "
          "and the time is over; or it was deleted meanwhile\n"
          "  128+n  signal n ended it\n",
      .takes_cluster = true};
  AddConnection(command.flags);
  return command;
}

CommandDescription Await() {
  CommandDescription command = {
      .name = "await",
      .command = Command::kAwait,
      .usage = "await CLUSTER --app=OWNER [--timeout=60s] [FLAGS]",
      .help = "Wait until an application may use its cluster",
      .flags = {AppFlag("the application's owner"),
                {.name = "timeout",
                 .placeholder = "DURATION",
                 .default_value = "60s",
                 .help = "how long a cluster is waited for that is not ready",
                 .note = ""}},
      .about = std::string("A cluster is ready if it has a master, a worker and a master service, "
                           "and is not\ncondemned. ") +
               kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0      ready\n"
          "  2      wrong usage or settings\n"
          "  4      unknown: something could not be read\n"
          "  10     there is no such cluster\n"
          "  11     it is another application's; said at once, unless that one has ended\n"
          "  12     it is condemned or incomplete, and the time is over\n"
          "  128+n  signal n ended it\n",
      .takes_cluster = true};
  AddConnection(command.flags);
  return command;
}

CommandDescription Claim() {
  CommandDescription command = {
      .name = "claim",
      .command = Command::kClaim,
      .usage = "claim CLUSTER --app=OWNER [--ephemeral] [FLAGS]",
      .help = "Say that an application uses a cluster",
      .flags = {AppFlag("the application's owner"),
                {.name = "ephemeral",
                 .placeholder = "true|false",
                 .default_value = "false",
                 .help = "the cluster is the application's own, and goes with it",
                 .note = ""}},
      .about = std::string("A cluster that is used is not deleted for want of its owner. ") +
               kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0   claimed\n"
          "  1   there is no such cluster or owner, or it could not be written\n"
          "  2   wrong usage or settings\n"
          "  4   unknown: something could not be read\n"
          "  11  it is another application's, or the owner uses another cluster\n"
          "  12  it is condemned, or has no master\n",
      .takes_cluster = true};
  AddConnection(command.flags);
  return command;
}

CommandDescription Release() {
  CommandDescription command = {
      .name = "release",
      .command = Command::kRelease,
      .usage = "release CLUSTER --app=OWNER [FLAGS]",
      .help = "Say that an application no longer uses a cluster",
      .flags = {AppFlag("the application's owner")},
      .about = std::string("An ephemeral cluster becomes a shared one, which nothing deletes by "
                           "itself. ") +
               kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0   released, or it wasn't claimed\n"
          "  1   it could not be written\n"
          "  2   wrong usage or settings\n"
          "  4   unknown: something could not be read\n"
          "  11  it is another application's\n",
      .takes_cluster = true};
  AddConnection(command.flags);
  return command;
}

CommandDescription Delete() {
  CommandDescription command = {
      .name = "delete",
      .command = Command::kDelete,
      .usage = "delete CLUSTER [--app=OWNER --app-status=completed|terminated] [--wait] [FLAGS]",
      .help = "Delete a cluster now",
      .flags = {AppFlag("whose application has ended; the rules decide then"),
                {.name = "app-status",
                 .placeholder = "completed|terminated",
                 .default_value = "",
                 .help = "how it ended",
                 .note = ""},
                {.name = "wait",
                 .placeholder = "true|false",
                 .default_value = "false",
                 .help = "delete in the foreground, and return when all of it is gone",
                 .note = ""},
                {.name = "skip-steps",
                 .placeholder = "true|false",
                 .default_value = "false",
                 .help = "pass over its steps before and after; only without --app",
                 .note = ""}},
      .about = std::string("With --app the cluster must be that application's own, and is kept "
                           "where watch would keep it;\nconfirmations and grace periods don't "
                           "count. Without, it is deleted whatever the rules and\nholds say.\n") +
               kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0      deleted; or kept, and it says why\n"
          "  1      shared, another's, misconfigured, not known, or not allowed\n"
          "  2      wrong usage or settings\n"
          "  128+n  signal n ended it\n",
      .takes_cluster = true};
  AddConnection(command.flags);
  for (const char* name :
       {"volumes", "volume-retention", "resources", "concurrency", "steps-deadline",
        "delete-deadline", "operator-grace", "log-level", "log-format"}) {
    Flag flag = LikeSetting(name);
    flag.is_own = false;
    if (flag.name == "log-level") flag.default_value = "warn";
    command.flags.push_back(std::move(flag));
  }
  return command;
}

CommandDescription Sweep() {
  CommandDescription command = {
      .name = "sweep",
      .command = Command::kSweep,
      .usage = "sweep [-A] [--dry-run] [FLAGS]",
      .help = "Delete the abandoned clusters that no watcher sees to, and claims left to it",
      .flags = {{.name = "all-namespaces",
                 .placeholder = "true|false",
                 .default_value = "false",
                 .help = "the clusters of all namespaces",
                 .letter = 'A',
                 .note = ""}},
      .about =
          "One pass, for a CronJob. It leaves alone each cluster in whose master pod a watcher "
          "runs, and\ntreats the others as a watcher would: rules, confirmations over the grace "
          "period, holds, surge\nand brake. So it takes minutes where anything is abandoned. A "
          "cluster without a master\nis named, and kept: \"cluster-watcher delete NAME\" ends "
          "it.\n",
      .ending =
          "\nExit codes:\n"
          "  0      done\n"
          "  1      a deletion failed, or what there is could not be read\n"
          "  2      wrong usage or settings\n"
          "  128+n  signal n ended it\n"};
  AddConnection(command.flags);
  for (const char* name :
       {"dry-run", "confirmations", "grace-period", "scaled-to-zero-grace-period", "startup-grace",
        "surge-limit", "surge-grace", "poll-interval", "completed-when", "volumes",
        "volume-retention", "resources", "concurrency", "steps-deadline", "delete-deadline",
        "operator-grace", "log-level", "log-format"}) {
    Flag flag = LikeSetting(name);
    flag.is_own = false;
    if (flag.name == "log-level") flag.default_value = "warn";
    if (flag.name == "dry-run") flag.help = "say what would be deleted, and change nothing";
    command.flags.push_back(std::move(flag));
  }
  return command;
}

Flag NamespaceWideFlag() {
  return {.name = "namespace-wide",
          .placeholder = "true|false",
          .default_value = "false",
          .help = "all clusters of the namespace, instead of CLUSTER",
          .note = ""};
}

CommandDescription Hold() {
  CommandDescription command = {
      .name = "hold",
      .command = Command::kHold,
      .usage = "hold [CLUSTER] [DURATION] [--namespace-wide] [--reason=TEXT] [--overwrite] [FLAGS]",
      .help = "Keep a cluster, or all of a namespace, for a while",
      .flags = {NamespaceWideFlag(),
                {.name = "reason",
                 .placeholder = "TEXT",
                 .default_value = "",
                 .help = "why, for whoever wonders",
                 .note = ""},
                {.name = "overwrite",
                 .placeholder = "true|false",
                 .default_value = "false",
                 .help = "also where it is held for longer",
                 .note = ""}},
      .about =
          "DURATION is from 1s to 8760h, or in days as 7d (default 24h). A hold that ends later "
          "stays. A\ndeletion that was begun is not stopped.\n",
      .ending =
          "\nExit codes:\n"
          "  0  held\n"
          "  1  there is no such cluster, or it could not be written\n"
          "  2  wrong usage or settings\n",
      .takes_cluster = true};
  AddConnection(command.flags);
  return command;
}

CommandDescription Unhold() {
  CommandDescription command = {.name = "unhold",
                                .command = Command::kUnhold,
                                .usage = "unhold [CLUSTER] [--namespace-wide] [FLAGS]",
                                .help = "End a hold",
                                .flags = {NamespaceWideFlag()},
                                .about = "",
                                .ending =
                                    "\nExit codes:\n"
                                    "  0  not held by this any more\n"
                                    "  1  there is no such cluster, or it could not be written\n"
                                    "  2  wrong usage or settings\n",
                                .takes_cluster = true};
  AddConnection(command.flags);
  return command;
}

CommandDescription List() {
  CommandDescription command = {
      .name = "list",
      .command = Command::kList,
      .usage = "list [CLUSTER] [-A] [-w] [--app=OWNER] [-o table|wide|json] [FLAGS]",
      .help = "Show the clusters, and what watch would make of each",
      .flags = {{.name = "output",
                 .placeholder = "table|wide|json",
                 .default_value = "table",
                 .help = "how they are shown",
                 .letter = 'o',
                 .note = ""},
                {.name = "all-namespaces",
                 .placeholder = "true|false",
                 .default_value = "false",
                 .help = "the clusters of all namespaces",
                 .letter = 'A',
                 .note = ""},
                AppFlag("only the clusters that this application uses"),
                {.name = "watch",
                 .placeholder = "true|false",
                 .default_value = "false",
                 .help = "go on showing them, and how long each has left",
                 .letter = 'w',
                 .note = ""},
                {.name = "no-headers",
                 .placeholder = "true|false",
                 .default_value = "false",
                 .help = "leave out the names of the columns",
                 .note = ""}},
      .about =
          "The verdict is that of one look, without confirmations. A cluster without an owner "
          "is <shared>;\nwhat isn't there is <missing>.\n",
      .ending =
          "\nExit codes:\n"
          "  0  done\n"
          "  1  there is no such cluster, or they could not be read\n"
          "  2  wrong usage or settings\n",
      .takes_cluster = true};
  AddConnection(command.flags);
  return command;
}

CommandDescription Watch() {
  return {
      .name = "watch",
      .command = Command::kWatch,
      .usage = "[watch] [FLAGS]",
      .help = "Watch the owner of this pod's cluster; delete the cluster once it is abandoned",
      .flags = SettingFlags(),
      .about =
          "A setting is taken from its flag, else from the environment, else from the pod's\n"
          "annotation, else it has its default:\n"
          "  --poll-interval=10s\n"
          "  CLUSTER_WATCHER_POLL_INTERVAL=10s\n"
          "  cluster-watcher/poll-interval: 10s\n"
          "A flag that is given twice: the last counts. A duration is written as 500ms, 1m30s or "
          "24h.\n",
      .ending =
          "\nExit codes:\n"
          "  0  told to stop, or its pod is gone\n"
          "  2  flags, environment or kubeconfig are wrong, or there is no such pod\n"};
}

CommandDescription Check() {
  CommandDescription command = {
      .name = "check",
      .command = Command::kCheck,
      .usage = "check [CLUSTER] [-o text|json] [FLAGS]",
      .help = "Look once, and say what watch would make of it and why",
      .flags = {{.name = "output",
                 .placeholder = "text|json",
                 .default_value = "text",
                 .help = "how the outcome is shown",
                 .letter = 'o',
                 .note = ""}},
      .about =
          "One sure look at the cluster CLUSTER, else at that of the pod. It changes nothing.\n",
      .ending =
          "and all flags of watch: \"cluster-watcher help watch\" shows them.\n\n"
          "Exit codes:\n"
          "  0  keep\n"
          "  1  no such cluster\n"
          "  2  neither a cluster nor a pod given, or wrong usage or settings\n"
          "  3  abandoned\n"
          "  4  unknown\n",
      .takes_cluster = true};
  Flags settings = SettingFlags();
  for (Flag& setting : settings) setting.is_shown = false;
  command.flags.insert(command.flags.end(), settings.begin(), settings.end());
  return command;
}

CommandDescription Inject() {
  return {
      .name = "inject",
      .command = Command::kInject,
      .usage = "inject [-f FILE]... [FLAGS]",
      .help = "Add the watcher to the pods in manifests, as the webhook does in the cluster",
      .flags = {{.name = "filename",
                 .placeholder = "FILE",
                 .default_value = "-",
                 .help = "manifests, YAML or JSON; \"-\" is the standard input; may be repeated",
                 .letter = 'f',
                 .note = ""},
                {.name = "config",
                 .placeholder = "FILE|DIR",
                 .default_value = "",
                 .help = "what the sidecar looks like: the manifest of the ConfigMap "
                         "cluster-watcher, or a directory with one file for each of its keys",
                 .note = ""},
                {.name = "image",
                 .placeholder = "IMAGE",
                 .default_value = "",
                 .help = std::string("the sidecar's image, whatever the ConfigMap says (default "
                                     "without --config: cluster-watcher:") +
                         kVersion + ")",
                 .note = ""},
                {.name = "reject-invalid",
                 .placeholder = "true|false",
                 .default_value = "false",
                 .help = "annotations that the watcher would refuse are errors, not warnings",
                 .note = ""}},
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

CommandDescription Webhook() {
  const auto flag = [](const char* name, const char* placeholder, const char* default_value,
                       const char* help) {
    return Flag{.name = name,
                .placeholder = placeholder,
                .default_value = default_value,
                .help = help,
                .note = ""};
  };
  return {.name = "webhook",
          .command = Command::kWebhook,
          .usage = "webhook [FLAGS]",
          .help = "Serve the API server's admission webhooks, which add the watcher to pods",
          .flags = {flag("config", "DIR|FILE", "/etc/cluster-watcher",
                         "what the sidecar looks like: the ConfigMap cluster-watcher as a mounted "
                         "directory, or its manifest"),
                    flag("tls-cert", "FILE", "/tls/tls.crt", "the certificate, PEM"),
                    flag("tls-key", "FILE", "/tls/tls.key", "the certificate's key, PEM"),
                    flag("webhook-listen", "ADDRESS", ":8443",
                         "where /mutate and /validate are served, by HTTPS"),
                    LikeSetting("listen"),
                    flag("reject-invalid", "true|false", "false",
                         "annotations that the watcher would refuse are refused, not warned of"),
                    flag("shutdown-delay", "DURATION", "5s",
                         "how long requests are still served once the pod stops"),
                    LikeSetting("log-level"), LikeSetting("log-format")},
          .about = "",
          .ending =
              "\nExit codes:\n"
              "  0  told to stop\n"
              "  2  wrong usage or settings, or it can't serve\n"};
}

CommandDescription Completion() {
  return {.name = "completion",
          .command = Command::kCompletion,
          .usage = "completion bash|zsh|fish",
          .help = "Print what makes a shell complete commands, flags and their values",
          .flags = {},
          .about =
              "In ~/.bashrc, in ~/.zshrc, and once for fish:\n"
              "  source <(cluster-watcher completion bash)\n"
              "  source <(cluster-watcher completion zsh)\n"
              "  cluster-watcher completion fish \\\n"
              "  >~/.config/fish/completions/cluster-watcher.fish\n",
          .ending = kUsualExits};
}

// --- Help ---------------------------------------------------------------------------------------

constexpr std::size_t kWidth = 80;

// Appends `text` to `begun`, broken between words; further lines are indented. Brackets stay whole.
std::string Filled(std::string begun, const std::string& text, std::size_t indent) {
  std::size_t used = begun.size() - (begun.rfind('\n') + 1);
  bool is_first = true;  // of its line
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    for (int depth = 0; end < text.size() && (text[end] != ' ' || depth > 0); ++end) {
      depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
    }
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (!is_first && used + 1 + word.size() > kWidth) {
      begun += "\n" + std::string(indent, ' ');
      used = indent;
      is_first = true;
    }
    begun += (is_first ? "" : " ") + word;
    used += (is_first ? 0 : 1) + word.size();
    is_first = false;
  }
  return begun + "\n";
}

// Writes `left` in a column and `right` beside it.
std::string Row(const std::string& left, const std::string& right, std::size_t column) {
  const bool fits = left.size() + 2 <= column;
  const std::string gap =
      fits ? std::string(column - left.size(), ' ') : "\n" + std::string(column, ' ');
  return Filled(left + gap, right, column);
}

// Lets lines run on, but for those that are indented: an example, or a row of two columns.
std::string Wrapped(const std::string& text) {
  std::string wrapped;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) wrapped += Filled("", std::exchange(paragraph, ""), 0);
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.empty() && line.front() != ' ') {
      paragraph += (paragraph.empty() ? "" : " ") + line;
      continue;
    }
    end_paragraph();
    const std::size_t gap = line.find("  ", std::min(line.find_first_not_of(' '), line.size()));
    const std::size_t column = line.find_first_not_of(' ', gap);
    const bool is_row = gap != std::string::npos && column != std::string::npos;
    wrapped += is_row ? Row(line.substr(0, gap), line.substr(column), column) : line + "\n";
  }
  end_paragraph();
  return wrapped;
}

std::string UsageText(const CommandDescription& command) {
  return "\nUsage:\n" + Filled("  " + Program().name + " ", command.usage, 6);
}

constexpr std::size_t kMostColumn = 32;

std::string FlagText(const Flag& flag) {
  const std::string before =
      flag.letter == 0 ? "      --" : std::string("  -") + flag.letter + ", --";
  return before + flag.name +
         (flag.IsBoolean() ? "[=" + flag.placeholder + "]" : "=" + flag.placeholder);
}

std::string FlagRows(const Flags& flags) {
  std::size_t column = 0;
  for (const Flag& flag : flags) {
    if (flag.is_shown) column = std::max(column, FlagText(flag).size() + 4);
  }
  column = std::min(column, kMostColumn);
  std::string text;
  for (const Flag& flag : flags) {
    if (!flag.is_shown) continue;
    text += Row(FlagText(flag), Explained(flag), column);
  }
  return text + Row("  -h, --help", "show this", column);
}

std::string GeneralHelp() {
  const CommandDescription& program = Program();
  std::string text =
      program.name + " " + program.help + ".\n" + UsageText(program) + "\nCommands:\n";
  std::size_t longest = 0;
  for (const CommandDescription& command : Commands()) {
    longest = std::max(longest, command.name.size());
  }
  for (const CommandDescription& command : Commands()) {
    text += Row("  " + command.name, command.help, longest + 5);
  }
  return text + "\n" + Wrapped(program.about + program.ending) +
         "\n\"cluster-watcher help COMMAND\" shows the flags of a command.\n";
}

}  // namespace

const std::vector<CommandDescription>& Commands() {
  static const std::vector<CommandDescription> commands = {
      Watch(),
      Run(),
      Create(),
      Await(),
      Claim(),
      Release(),
      Delete(),
      Sweep(),
      Hold(),
      Unhold(),
      List(),
      Check(),
      Inject(),
      Webhook(),
      Completion(),
      {"version", Command::kVersion, "version", "Show the version", {}, "", kUsualExits},
      {"help",
       std::nullopt,
       "help [COMMAND]",
       "Show how the program, or a command, is used",
       {},
       "",
       kUsualExits},
  };
  return commands;
}

const CommandDescription* FindCommand(std::string_view name) {
  const auto found =
      std::find_if(Commands().begin(), Commands().end(),
                   [name](const CommandDescription& command) { return command.name == name; });
  return found == Commands().end() ? nullptr : &*found;
}

const Flag* FindFlag(const Flags& flags, std::string_view name) {
  const auto found = std::find_if(flags.begin(), flags.end(),
                                  [name](const Flag& one) { return one.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

const Flags& AllFlags() {
  static const Flags flags = [] {
    Flags all;
    for (const CommandDescription& command : Commands()) {
      for (const Flag& flag : command.flags) {
        if (FindFlag(all, flag.name) == nullptr) all.push_back(flag);
      }
    }
    return all;
  }();
  return flags;
}

const CommandDescription& Program() {
  static const CommandDescription program = {
      .name = "cluster-watcher",
      .command = std::nullopt,
      .usage = "[COMMAND] [FLAGS]",
      .help = "deletes an ephemeral compute cluster once its driver is gone",
      .flags = {},
      .about = "Without a command it is watch. Flags stand before or after the command.\n",
      .ending =
          "\nExit codes:\n"
          "  0  done\n"
          "  1  failed\n"
          "  2  wrong usage or settings\n"};
  return program;
}

GivenFlag ReadFlag(const std::string& argument) {
  const bool is_long = argument.starts_with("--");
  const std::size_t name = is_long ? 2 : 1;
  const std::size_t end = is_long ? std::min(argument.find('=', name), argument.size()) : 2;
  const std::string given = argument.substr(name, end - name);
  for (const Flag& flag : AllFlags()) {
    const bool is_it = is_long ? flag.name == given : std::string(1, flag.letter) == given;
    if (!is_it) continue;
    if (end == argument.size()) return {&flag, std::nullopt};
    return {&flag, argument.substr(argument[end] == '=' ? end + 1 : end)};
  }
  return {};
}

std::vector<std::string> SplitLetters(std::string argument) {
  std::vector<std::string> parts;
  while (argument.size() > 2 && argument[1] != '-' && argument[2] != '=') {
    const std::string first = argument.substr(0, 2);
    const Flag* flag = ReadFlag(first).flag;
    if (flag == nullptr || !flag->IsBoolean()) break;
    parts.push_back(first);
    argument.erase(1, 1);
  }
  parts.push_back(std::move(argument));
  return parts;
}

std::string Explained(const Flag& flag) {
  const std::string preset =
      flag.default_value.empty() ? "" : " (default " + flag.default_value + ")";
  return flag.help + preset + flag.note;
}

std::string HelpFor(const CommandDescription* command) {
  if (command == nullptr) return GeneralHelp();
  std::string text = Wrapped(command->help + ".") + UsageText(*command);
  if (!command->about.empty()) text += "\n" + Wrapped(command->about);
  if (!command->flags.empty()) text += "\nFlags:\n" + FlagRows(command->flags);
  return text + Wrapped(command->ending);
}

}  // namespace cluster_watcher
