// Keeps a watch on one object open: begins it, starts it again where it ends, expires or stalls,
// and waits longer and longer where it fails. It says that the object may have changed, never how.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include "probes/kube/kube_client.h"
#include "probes/kube/watch_stream.h"

namespace cluster_watcher {

class ObjectWatch {
 public:
  enum class Restart {
    kClosed,   // the server ended it, as it does after half an hour or more
    kExpired,  // 410: it has to begin again
    kStalled,  // neither an event nor a bookmark came
    kError,    // it was refused, broke, or said what is no event
  };
  struct Ended {
    Restart restart = Restart::kError;
    bool refused = false;     // it will be tried again, but hardly ever be granted as things are
    bool was_silent = false;  // it showed nothing for as long as servers take to send a bookmark
    std::string why;
  };
  using OnRestart = std::function<void(const Ended& ended)>;

  // Servers send a bookmark about once a minute. Source: k8s.io/apiserver, cacher.
  static constexpr Duration kLongestSilence = std::chrono::minutes(3);
  static constexpr Duration kLongestOpening{10'000};
  // The longest wait before it is tried again, and where it is refused always.
  static constexpr Duration kLongestPause = std::chrono::minutes(5);

  // `seen` is the object's resourceVersion as it was last read.
  ObjectWatch(KubeClient& client, const WatchAccess& access, WatchedObject object, std::string seen,
              unsigned seed, OnRestart on_restart);

  const WatchedObject& object() const { return object_; }
  // Does what is due, which may take a request.
  void Tend(std::stop_token stop);
  // When there will be something to do, unless the server says something earlier.
  MonotonicTime due() const;
  // Whether it has been granted and has not ended: each change shows, unless what is in between
  // passes nothing on but the answer.
  bool IsUp() const { return stream_ && stream_->state() == WatchStream::State::kUp; }
  // Whether something has been passed on, an event or a bookmark, since it was begun.
  bool HasSpoken() const { return stream_ && stream_->has_spoken(); }
  // Whether the object may have changed since the last call.
  bool TakeChange() { return std::exchange(changed_, false); }
  // Whether a read of this resourceVersion is as new as what the watch has shown since the last
  // consistent read.
  bool IsAsNew(const std::string& resource_version) const;
  void NoteConsistentRead() { shown_.clear(); }
  // The caller knows all changes up to this resourceVersion.
  void NoteKnown(std::string resource_version) { known_ = std::move(resource_version); }

 private:
  void NoteShown(const std::string& version);
  std::optional<Restart> WhyToRestart(std::string& why) const;
  void End(Restart restart, const std::string& why, const std::stop_token& stop);
  bool Read(const std::stop_token& stop);
  void Begin(const std::stop_token& stop);
  void Pause();

  KubeClient& client_;
  const WatchAccess& access_;
  const WatchedObject object_;
  const OnRestart on_restart_;
  std::minstd_rand jitter_;
  std::string seen_;
  // Where the next watch goes on.
  struct {
    std::string version;  // empty: to be read
    std::optional<std::uint64_t> fingerprint;
  } from_;
  std::string shown_;
  std::string known_;
  bool changed_ = false;
  // Before it is begun again.
  struct {
    Duration length{0};
    MonotonicTime end{};
  } pause_;
  std::unique_ptr<WatchStream> stream_;  // null: it waits for the pause's end
};

}  // namespace cluster_watcher
