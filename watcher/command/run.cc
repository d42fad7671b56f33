#include "watcher/command/run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/command/deletion_session.h"
#include "watcher/command/manifest_file.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/shared_flags.h"
#include "watcher/driver/child_process.h"
#include "watcher/driver/driver_run.h"

namespace cluster_watcher {
namespace {

struct RunOptions {
  NamedCluster cluster;  // empty: not given
  std::optional<OwnerName> app;
  std::vector<ManifestFile> files;
  bool ephemeral = false;
  std::optional<bool> deletes_on_failure;  // nullopt: as it is usual for the owner's kind
  bool waits_after = false;
  Duration timeout{0};
  Duration stop_timeout{0};
};

std::string OneOf(const Invocation& invocation, const std::string& flag,
                  const std::vector<std::string>& words, std::vector<std::string>& errors) {
  const std::string& value = invocation.options.at(flag);
  if (std::find(words.begin(), words.end(), value) != words.end()) return value;
  errors.push_back("--" + flag + ": " + Quoted(value) + " is unknown: give " + words[0] + " or " +
                   words[1]);
  return words[0];
}

// The pod that we run in means its root.
std::optional<OwnerName> DefaultApp(const Environment& environment) {
  const std::string pod = environment("POD_NAME").value_or("");
  if (pod.empty()) return std::nullopt;
  OwnerName name;
  name.kind = "pod";
  name.name = pod;
  return name;
}

RunOptions ReadOptions(const Invocation& invocation, const Environment& environment,
                       std::vector<std::string>& errors) {
  RunOptions options;
  const auto flag = invocation.flags.find("cluster");
  const bool is_flag = flag != invocation.flags.end();
  if (is_flag) options.cluster = {flag->second, "--cluster"};
  for (const char* variable : {"CLUSTER_WATCHER_CLUSTER", "OSHINKO_CLUSTER_NAME"}) {
    const auto given = environment(variable);
    if (is_flag || !options.cluster.name.empty() || !given) continue;
    options.cluster = {*given, std::string("$") + variable};
  }
  const NamedCluster& cluster = options.cluster;
  if ((is_flag || !cluster.name.empty()) && !IsDnsLabel(cluster.name)) {
    errors.push_back("the cluster " + Quoted(cluster.name) + " of " + cluster.source +
                     " can't be the name of objects: give a DNS label, at most 63 of a-z, 0-9 and "
                     "-");
  }
  options.app = ReadApp(invocation, errors);
  if (!invocation.options.contains("app")) {
    options.app = DefaultApp(environment);
    if (!options.app) {
      errors.emplace_back(
          "whose application it is isn't known: give --app, or set POD_NAME by the downward API");
    }
  }
  options.files = ReadManifestFiles(invocation.files, errors);
  options.ephemeral = invocation.options.at("ephemeral") == "true";
  if (invocation.options.contains("on-failure")) {
    options.deletes_on_failure =
        OneOf(invocation, "on-failure", {"delete", "keep"}, errors) == "delete";
  }
  options.waits_after = OneOf(invocation, "after", {"exit", "wait"}, errors) == "wait";
  options.timeout = ReadTimeout(invocation, "timeout", errors);
  options.stop_timeout = ReadTimeout(invocation, "stop-timeout", errors);
  if (invocation.words.empty()) {
    errors.emplace_back("run: no program is given: name it after --, as in run -- spark-submit");
  }
  return options;
}

// All of one `run`, in the order of its phases.
class Runner {
 public:
  Runner(const Invocation& invocation, const Environment& environment, RunOptions options)
      : invocation_(invocation), environment_(environment), options_(std::move(options)) {}

  // Until the program may be started. The exit code if it may not.
  std::optional<int> Prepare(const std::stop_token& stop) {
    if (auto failed = Connect(stop)) return failed;
    if (options_.cluster.name.empty()) {
      auto named = FindName();
      if (!named) return Failed(named.error());
      options_.cluster = *std::move(named);
      if (auto failed = Connect(stop)) return failed;
    }
    SayWhere(*session_);
    DriverRun run{session_->cluster(), *options_.app, std::nullopt, options_.ephemeral,
                  options_.timeout};
    if (!options_.files.empty()) {
      auto file = ReadClusterFiles(options_.files, run.cluster, *session_->tools().profiles,
                                   !session_->HasWords());
      if (!file) return PrintErrors(file.error(), kRunFailedExit);
      run.objects = std::move(file->objects);
      session_->Use(file->profile);
      run.cluster = session_->cluster();
    }
    {
      DeletionSession earlier(*session_, environment_, StepsAt::kElsewhere, Until::kAccepted);
      const auto finished = FinishOwnDeletion(earlier.work(), run.cluster);
      if (finished && finished->exit != DriverExit::kDone) return Failed(*finished);
    }
    auto ready = MakeReady(session_->tools(), run);
    if (!ready) return Failed(ready.error());
    PrintErrors(ready->warnings);
    ready_ = *std::move(ready);
    return std::nullopt;
  }

  Result<ChildEnd, NotStarted> RunProgram(SignalSource& signals, const std::set<int>& descriptors) {
    const std::string& name = session_->cluster().name;
    return RunChild(
        {invocation_.words,
         {{"OSHINKO_CLUSTER_NAME", name}, {"OSHINKO_SPARK_MASTER", "spark://" + name + ":7077"}},
         descriptors,
         options_.stop_timeout},
        signals);
  }

  // Deletes the application's own cluster, by its word on how it ended.
  void EndCluster(const ChildEnd& end) {
    if (!ready_.is_own) return;
    const bool has_failed = !end.stopped_by && end.exit_code != 0;
    if (has_failed && !DeletesOnFailure()) return;
    DeletionSession deletion(*session_, environment_, StepsAt::kElsewhere, Until::kAccepted);
    const char* status = end.stopped_by ? "terminated" : "completed";
    const DriverOutcome outcome =
        Delete(deletion.work(),
               {session_->cluster(), AppStatus{ready_.app, status, ready_.app_uid}, false});
    // Stdout is the program's.
    if (!outcome.said.empty()) PrintErrors({outcome.said});
    PrintErrors(outcome.warnings);
    if (!outcome.error.empty()) PrintErrors({outcome.error});
  }

 private:
  Result<NamedCluster, DriverOutcome> FindName() {
    const ClusterId cluster = session_->cluster();
    const auto profiles = session_->ProfilesMeant();
    if (!profiles) {
      return Unexpected{DriverOutcome::Of(DriverExit::kUnknown, profiles.error())};
    }
    const ListedTools listed(*session_, cluster.ns, cluster.label());
    return NameOfItsCluster(session_->tools(), listed.tools, *options_.app, *profiles, cluster.ns);
  }
  // Makes the session again, about the cluster as far as it is known, with the same API server.
  std::optional<int> Connect(const std::stop_token& stop) {
    Invocation of_cluster = invocation_;
    of_cluster.cluster = options_.cluster.name;
    of_cluster.flags.erase("cluster");
    if (invocation_.options.at("verbose") == "true") of_cluster.flags.emplace("log-level", "info");
    if (!of_cluster.cluster.empty()) of_cluster.flags["cluster"] = of_cluster.cluster;
    Session session =
        MakeSession(of_cluster, environment_, session_ ? &session_->server() : nullptr);
    if (!session.errors.empty()) return PrintErrors(session.errors, kRunFailedExit);
    session_ = std::make_unique<DriverSession>(std::move(session), stop);
    const auto failed = session_->FindWords();
    return failed ? std::optional(Failed(*failed)) : std::nullopt;
  }
  // A Job's own Complete or Failed decides; it may start another pod.
  bool DeletesOnFailure() const {
    return options_.deletes_on_failure.value_or(ready_.app.kind != "job");
  }
  int Failed(const DriverOutcome& outcome) const {
    PrintErrors(outcome.warnings);
    std::string error = outcome.error;
    if (outcome.exit == DriverExit::kOthers && !options_.cluster.name.empty()) {
      error += "; the name " + options_.cluster.name + " comes from " + options_.cluster.source;
    }
    return PrintErrors({error}, kRunFailedExit);
  }

  const Invocation& invocation_;
  const Environment& environment_;
  RunOptions options_;
  std::unique_ptr<DriverSession> session_;
  ReadyCluster ready_;
};

}  // namespace

int RunRun(const Invocation& invocation, const Environment& environment, SignalSource& signals,
           const std::set<int>& descriptors) {
  std::vector<std::string> errors;
  RunOptions options = ReadOptions(invocation, environment, errors);
  if (!errors.empty()) return PrintErrors(errors, kRunFailedExit);
  const bool waits_after = options.waits_after;
  Runner runner(invocation, environment, std::move(options));
  {
    StopOnSignal stop(signals);
    const auto failed = runner.Prepare(stop.token());
    if (const auto signal = stop.End()) return ExitBySignal(*signal);
    if (failed) return *failed;
  }
  const auto end = runner.RunProgram(signals, descriptors);
  if (!end) {
    // The application hasn't run, and is expected back.
    return PrintErrors({end.error().reason}, end.error().exit_code);
  }
  runner.EndCluster(*end);
  // Tells to stop once only.
  if (waits_after && !end->stopped_by) AwaitStop(signals);
  return end->exit_code;
}

CommandDescription DescribeRun() {
  CommandDescription command = {
      .name = "run",
      .command = Command::kRun,
      .usage =
          "run [--cluster=NAME] [--app=OWNER] [-f FILE]... [--ephemeral] [FLAGS] -- PROGRAM "
          "[ARGUMENT]...",
      .help = "Run a driver's program with its cluster, and delete the cluster when it has ended",
      .flags = {AppFlag("the owner of the application; without it the root of the pod $POD_NAME"),
                FilenameFlag(
                    "the cluster's manifests, of which it is created where there is none; may "
                    "be repeated"),
                SwitchFlag("ephemeral",
                           "a cluster that is created is the application's own, and goes with it"),
                OwnFlag(
                    "on-failure", "delete|keep", "",
                    "what becomes of the cluster if the program fails (default delete, and keep "
                    "for a Job, which may try again)"),
                OwnFlag("after", "exit|wait", "exit",
                        "what comes after: wait sleeps until SIGTERM, so that no Deployment starts "
                        "the program again"),
                OwnFlag("timeout", "DURATION", "60s",
                        "how long a cluster is waited for that is not ready"),
                OwnFlag("stop-timeout", "DURATION", "10s",
                        "how long the program has to end after SIGTERM or SIGINT"),
                VerboseFlag()},
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
  return WithSettings(std::move(command), {"cluster", "log-level", "log-format"});
}

}  // namespace cluster_watcher
