#include "watcher/deletion/await_gone.h"

#include "probes/base/names.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

constexpr Duration kBetweenForegroundDeletes = std::chrono::minutes(1);
constexpr Duration kBetweenReads{500};
constexpr std::size_t kMostOthersNamed = 3;

}  // namespace

AwaitGone::AwaitGone(const Tools& tools, WarnOnce& warn_once, const ClusterId& cluster,
                     const KubeObject& root_as_seen, Mandate& mandate, PassReader& reader,
                     Deletes& deletes, const DeletionMemory& memory, std::optional<PassView>& view)
    : tools_(tools),
      warn_once_(warn_once),
      cluster_(cluster),
      as_seen_(root_as_seen),
      mandate_(mandate),
      reader_(reader),
      deletes_(deletes),
      memory_(memory),
      view_(view) {}

DeletionEnd AwaitGone::Run(MonotonicTime deadline, const std::stop_token& stop) {
  held_at_ = tools_.clock.Now() + tools_.settings->operator_grace;
  MonotonicTime foreground_at = held_at_;
  const bool is_own_pod = as_seen_.meta.uid == mandate_.condemned_by().uid;
  for (;;) {
    tools_.turn({});
    const RootState state = mandate_.Read();
    const auto pods = ReadPods();
    const bool is_last = pods && pods->others == 0;
    // The object under its name is somebody's new cluster.
    if (is_last && state == RootState::kReplaced) return DeletionEnd::kDone;
    const bool is_gone =
        state == RootState::kGone || (is_own_pod && state == RootState::kTerminating);
    if (is_last && is_gone && ReadWhatRemains(deadline)) return DeletionEnd::kDone;
    if (tools_.until == Until::kAccepted) return DeletionEnd::kGivenUp;
    // A watcher goes on, unless what is left waits for its own pod.
    const bool waits_for_us = is_last && !pods->own_runs;
    if (stop.stop_requested() && (tools_.heeds_stop || waits_for_us)) return DeletionEnd::kGivenUp;
    const bool is_there = state == RootState::kTerminating || state == RootState::kOurs;
    if (tools_.until == Until::kAllGone) SayWhatIsThere(is_there, pods);
    if (is_there) {
      if (auto why = mandate_.WhyEnded()) return *why;
    }
    // An etcd that was restored has it again.
    if (state == RootState::kOurs) {
      deletes_.Send({&mandate_.root()}, RootPropagationOf(tools_, as_seen_.type));
    }
    const bool is_held = state == RootState::kTerminating && tools_.clock.Now() >= held_at_;
    if (is_held && waits_for_us) {
      if (husk_.empty()) husk_ = NameHusk();
      // Its name can't be used again.
      if (tools_.until != Until::kAllGone) {
        left_.push_back(husk_);
        return DeletionEnd::kDone;
      }
    }
    // A finalizer holds it, so nothing of what it owns is collected in the background.
    if (is_held && pods && tools_.clock.Now() >= foreground_at) {
      deletes_.Send({&mandate_.root()}, PropagationPolicy::kForeground);
      foreground_at = tools_.clock.Now() + kBetweenForegroundDeletes;
    }
    if (tools_.gives_up && tools_.clock.Now() >= deadline) {
      if (is_there) left_.push_back(Named(mandate_.root()));
      if (pods) left_.insert(left_.end(), pods->named.begin(), pods->named.end());
      return DeletionEnd::kGivenUp;
    }
    tools_.clock.WaitUntil(tools_.clock.Now() + kBetweenReads,
                           tools_.heeds_stop ? stop : std::stop_token());
  }
}

std::optional<AwaitGone::Pods> AwaitGone::ReadPods() {
  Pods found;
  const auto list = [&] {
    found = {};
    return tools_.client.EachItem(
        ApiRequest::ListUnendedPods(cluster_.ns, cluster_.Selector()),
        [&](JsonValue item) {
          auto meta = ReadObjectMeta(item);
          if (!meta || !cluster_.Owns(*meta)) return;
          if (meta->uid == mandate_.condemned_by().uid) {
            found.own_runs = !meta->deleting;
          } else if (!IsPodLeft(*meta)) {
            if (++found.others <= kMostOthersNamed)
              found.named.push_back(Named({*FindBuiltInByName("pods", ""), *std::move(meta)}));
          }
        },
        RepeatedReads(tools_));
  };
  const auto is_refused = [](const Result<Done, ApiError>& read) {
    return !read && read.error().failure == ApiFailure::kForbidden;
  };
  auto read = list();
  // One refusal proves little: an authorizer may lag behind.
  if (is_refused(read)) read = list();
  if (read) return found;
  warn_once_(read.error().message);
  // An account that may not list them is told nothing.
  if (is_refused(read)) return found;
  return std::nullopt;
}

bool AwaitGone::IsPodLeft(const ObjectMeta& pod) {
  const auto stays = [&](const std::string& uid) {
    const auto below = memory_.below.find(uid);
    const std::string member = below == memory_.below.end() ? uid : below->second.ToText();
    return IsLeft(member, memory_) || deletes_.sent().forbidden.contains(member) ||
           (view_ && view_->survivors.held_back.contains(member));
  };
  const OwnerReference* controller = pod.Controller();
  return IsKept(pod) || stays(pod.uid) || (controller != nullptr && stays(controller->uid)) ||
         reader_.IsAnothers(pod);
}

std::string AwaitGone::Named(const KubeObject& object) const {
  return object.Describe() + WhyStillThere(object, deletes_.sent());
}

void AwaitGone::SayWhatIsThere(bool is_root_there, const std::optional<Pods>& pods) {
  std::vector<std::string> names = pods ? pods->named : std::vector<std::string>();
  if (is_root_there) names.push_back(Named(mandate_.root()));
  SayWaiting(names);
}

void AwaitGone::SayWaiting(const std::vector<std::string>& names) {
  const std::string text = "waiting for " + Joined(names);
  if (names.empty() || text == said_) return;
  tools_.log.info("{}", text);
  said_ = text;
}

std::string AwaitGone::NameHusk() {
  const std::string& finalizers = mandate_.root().meta.held_by.names;
  std::string husk = as_seen_.Describe() + ": nothing of it runs, but it is held by " +
                     (finalizers.empty() ? "a finalizer" : "the finalizer " + finalizers) +
                     ": ask its owner to take it off";
  tools_.log.warn("{}", husk);
  return husk;
}

bool AwaitGone::ReadWhatRemains(MonotonicTime deadline) {
  if (tools_.until != Until::kAllGone) return true;
  left_.clear();
  view_ = reader_.Read(true);
  // Nobody deletes what isn't terminating by now.
  const std::vector<std::string> names = NamesOfTerminating(*view_, deletes_.sent());
  SayWaiting(names);
  if (!names.empty() && tools_.clock.Now() >= held_at_) warn_once_("waiting for " + names.front());
  if (view_->complete || !names.empty()) return names.empty();
  left_ = view_->failed.empty() ? reader_.Unread() : view_->failed;
  return tools_.clock.Now() >= deadline;
}

}  // namespace cluster_watcher
