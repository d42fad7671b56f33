// The master root: the object that controls the master pod and bears the cluster's marks. Only this
// reads it under its UID and writes its marks; what they mean is decided elsewhere.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "probes/kube/kube_client.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {

enum class RootState {
  kOurs,         // it is there under its UID
  kTerminating,  // the same, but it has a deletionTimestamp
  kGone,         // the API server says NotFound
  kReplaced,     // another object has its name
  kUnknown,      // it can't be read
};

// How long a write of marks may take that has no deadline of its own.
inline constexpr Duration kMarksTimeout{5'000};

class MasterRoot {
 public:
  // `object` as it was read: its UID is the one that counts.
  MasterRoot(KubeClient& client, KubeObject object) : client_(client), object_(std::move(object)) {}

  // Reads its metadata, consistently. If it is kOurs or kTerminating, object() is what was read
  // now; else object() stays as it was.
  RootState Read(const Patience& patience = {}, std::optional<Duration> timeout = std::nullopt);
  // The same, but it reads more than the metadata: the object as it is then is in whole().
  RootState ReadWhole(const Patience& patience = {});
  // Valid until it is read again.
  JsonValue whole() const { return whole_.root(); }
  // The API server's clock when it was last read.
  std::optional<WallTime> server_time() const { return server_time_; }
  // Why the last read came to kUnknown, or the last dry run failed.
  const ApiError& problem() const { return problem_; }

  const KubeObject& object() const { return object_; }
  // Takes over what somebody else has just read of the same object.
  void Take(KubeObject object) { object_ = std::move(object); }
  Marks marks() const { return ReadMarks(object_.meta); }

  // Writes marks; it is a conflict if more than the object's status has changed since it was read.
  // object() stays as it was read. The timeout is each request's, of which there are a few where
  // the status changes; without one the client's holds.
  ApiResult WriteMarks(const AnnotationChanges& changes,
                       std::optional<Duration> timeout = std::nullopt,
                       const Patience& patience = {});
  // Tries by a dry run whether `by` may condemn the cluster. What the admission policy says that
  // refuses it, as the brake does; nullopt: none does, or that isn't known.
  std::optional<std::string> PolicyAgainstMarks(const WatcherId& by);

 private:
  RootState Send(ApiRequest request, const Patience& patience, std::optional<Duration> timeout);

  KubeClient& client_;
  KubeObject object_;
  JsonDocument whole_;
  std::optional<WallTime> server_time_;
  ApiError problem_;
};

}  // namespace cluster_watcher
