// Waits for the end of a cluster whose master root's delete was accepted: until the root and the
// cluster's pods are gone, or every member is, as Tools::until says.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "watcher/deletion/deletes.h"
#include "watcher/deletion/mandate.h"
#include "watcher/deletion/members.h"
#include "watcher/deletion/pass_reader.h"
#include "watcher/deletion/tools.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class AwaitGone {
 public:
  // `view`: what was read last; nullopt: nothing was.
  AwaitGone(const Tools& tools, WarnOnce& warn_once, const ClusterId& cluster,
            const KubeObject& root_as_seen, Mandate& mandate, PassReader& reader, Deletes& deletes,
            const DeletionMemory& memory, std::optional<PassView>& view);

  // A root that a finalizer holds is deleted again in the foreground, which collects what it owns.
  // Told to stop it is kGivenUp as well, of a watcher only where all but its own pod is gone; and
  // where that isn't to be waited for.
  DeletionEnd Run(MonotonicTime deadline, const std::stop_token& stop);

  // Names what is left, and why: the root, held by a finalizer though nothing of it runs; kinds
  // that could not be listed to the end; given up at the deadline, the root and its pods.
  const std::vector<std::string>& left() const { return left_; }

 private:
  // The cluster's pods that are to go.
  struct Pods {
    std::size_t others = 0;
    std::vector<std::string> named;  // the first of these, and why they are there
    bool own_runs = false;           // it isn't terminating
  };
  std::optional<Pods> ReadPods();
  bool IsPodLeft(const ObjectMeta& pod);
  std::string Named(const KubeObject& object) const;  // "pod/x, held by the finalizer y"
  // Lists the members, where they are waited for. True: every one is gone, or `deadline` is over
  // for kinds that can't be listed.
  bool ReadWhatRemains(MonotonicTime deadline);
  std::string NameHusk();
  void SayWhatIsThere(bool is_root_there, const std::optional<Pods>& pods);
  void SayWaiting(const std::vector<std::string>& names);

  const Tools& tools_;
  WarnOnce& warn_once_;
  const ClusterId& cluster_;
  const KubeObject& as_seen_;
  Mandate& mandate_;
  PassReader& reader_;
  Deletes& deletes_;
  const DeletionMemory& memory_;
  std::optional<PassView>& view_;
  MonotonicTime held_at_{};  // from then on something is held
  std::string husk_;         // names the root, held by a finalizer
  std::string said_;         // last, of what is waited for
  std::vector<std::string> left_;
};

}  // namespace cluster_watcher
