#include "watcher/deletion/pass_reader.h"

#include <set>
#include <utility>

#include "watcher/protocol/marks.h"

namespace cluster_watcher {

PassReader::PassReader(const Tools& tools, WarnOnce& warn_once, const ClusterId& cluster,
                       Mandate& mandate, DeletionMemory& memory)
    : tools_(tools),
      warn_once_(warn_once),
      cluster_(cluster),
      mandate_(mandate),
      memory_(memory),
      listing_(tools, warn_once, cluster, mandate.is_asked()),
      survivors_(tools, cluster) {}

PassView PassReader::Read(bool late) {
  mandate_.BeginList();
  MemberListing::Listed listed = listing_.List(RepeatedReads(tools_));
  PassView view;
  const KubeObject* root = mandate_.has_root() ? &mandate_.root() : nullptr;
  view.survivors = survivors_.Find(listed, root, memory_, late);
  if (view.survivors.unknown) {
    warn_once_(view.survivors.unknown->message);
    listing_.RefreshKinds();
  }
  view.complete = listed.complete && !view.survivors.above_unread;
  view.failed = std::move(listed.failed);
  KubeObjects objects = WithClaims(listed, view);
  if (is_closed_) {
    std::erase_if(objects, [this](const KubeObject& object) {
      return memory_.MemberOf(object.meta.uid) == nullptr &&
             !memory_.left.contains(object.meta.uid);
    });
  }
  is_closed_ = is_closed_ || (!mandate_.has_root() && view.complete);
  const auto left_before = memory_.left;
  view.members = SortMembers(std::move(objects), memory_, !view.complete);
  for (const std::string& mistake : view.members.mistakes) tools_.log.warn("{}", mistake);
  if (!view.complete && !late) {
    // The controller of an object may be what could not be listed.
    memory_.left = left_before;
  } else {
    NoteLeft(std::move(view.members.left), view.complete);
  }
  return view;
}

KubeObjects PassReader::WithClaims(MemberListing::Listed& listed, PassView& view) const {
  KubeObjects objects = std::move(listed.objects);
  for (KubeObject& claim : listed.claims) {
    const bool is_of_set = memory_.set_claims.contains(claim.meta.uid);
    if (!is_of_set && !cluster_.Owns(claim.meta)) continue;
    const bool is_marked = IsMarkedForCollection(claim.meta);
    if (is_marked && memory_.volumes == Volumes::kPreserve) view.used_again.push_back(claim);
    cluster_.DropWhatSaysNothing(claim.meta);
    objects.push_back(std::move(claim));
  }
  return objects;
}

void PassReader::NoteLeft(std::vector<std::string> left, bool is_all) {
  const std::set<std::string> told(left_.begin(), left_.end());
  for (const std::string& one : left) {
    if (!told.contains(one)) tools_.log.info("left alone: {}", one);
  }
  if (is_all) left_.clear();
  left_.insert(left_.end(), left.begin(), left.end());
}

std::vector<std::string> PassReader::Left() const {
  std::vector<std::string> left = listing_.skipped();
  left.insert(left.end(), left_.begin(), left_.end());
  return left;
}

}  // namespace cluster_watcher
