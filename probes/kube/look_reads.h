// State that the reads of one look share: how long one that fails for the moment is asked again,
// answers that were read ahead, and since when all that they say is known.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/kube_client.h"

namespace cluster_watcher {

// Since when evidence is known.
struct EvidenceSince {
  BootTime sent;      // when the first read was sent
  ServerDates dates;  // of the first answer on each connection since
};

// Returns how old it is by the machine's clock, or by the API server's if that shows more. `dates`
// are the last ones.
Duration AgeOf(const EvidenceSince& since, Clock& clock, const ServerDates& dates);

class LookReads {
 public:
  // An answer stays evidence for `fresh`.
  LookReads(Clock& clock, Duration fresh);

  // Evidence begins with the next read, and so does the time in which reads are repeated. What was
  // read ahead is forgotten.
  void BeginEvidence();
  const EvidenceSince& since() const { return since_; }

  // Returns what was asked for since the last call.
  std::vector<ApiRequest> TakeAsked();

  // For the client.
  // Waits until a read may be repeated that was repeated so often before. False: it may not, for it
  // was repeated often enough, its evidence would grow old, or `stop` is requested. `asked` is the
  // Retry-After.
  bool WaitToRepeat(int repeats, Duration asked, const std::stop_token& stop);
  void NoteAsked(const ApiRequest& request) { asked_.push_back(request); }
  void NoteDate(std::uint32_t connection, WallTime date) { since_.dates.emplace(connection, date); }
  void Keep(const ApiRequest& request, ApiResult answer);
  std::optional<ApiResult> Take(const ApiRequest& request);

 private:
  Clock& clock_;
  const Duration fresh_;
  std::minstd_rand jitter_;
  MonotonicTime deadline_;
  EvidenceSince since_;
  std::vector<ApiRequest> asked_;
  std::multimap<std::string, ApiResult> ahead_;
};

}  // namespace cluster_watcher
