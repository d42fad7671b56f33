// One watch on one object, by name: reads the events, and says that something has changed, not
// what. What an event shows is nobody's evidence. Source: kubernetes.io "Kubernetes API Concepts",
// efficient detection of changes; k8s.io/apimachinery `metav1.WatchEvent`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "probes/base/json.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/resource_type.h"
#include "probes/kube/streams.h"
#include "probes/kube/token_source.h"

namespace cluster_watcher {

// The parameters of a watch.
struct WatchAccess {
  Streams& streams;
  TokenSource& tokens;
  Clock& clock;
  RequestObserver observer;  // told of each watch that is answered, or fails before
};

// An object, and how much of it is watched.
struct WatchedObject {
  ResourceType type;
  std::string ns;
  std::string name;
  bool metadata_only = false;  // its status is of no interest
};

// Stands for all of an object that counts: without resourceVersion and managedFields, and without
// spec and status where only the metadata is watched.
std::uint64_t Fingerprint(JsonValue object, bool metadata_only);

class WatchStream final : private StreamReader {
 public:
  // Stands for a resourceVersion that isn't known: none is as new.
  static constexpr const char* kNoVersion = "?";
  // A longer line is passed over, and counts as a change.
  static constexpr std::size_t kLongestLine = 64u << 10;

  enum class State {
    kOpening,
    kUp,            // the server has begun to answer: what changes from now on is shown
    kClosed,        // the server has ended it
    kExpired,       // 410: the resourceVersion is too old
    kUnauthorized,  // 401
    kRefused,       // 403, 404, 405 and others: the same request will hardly ever be granted
    kFailed,        // the connection broke, the server is unwell, or it sent what is no event
  };

  // Opens a watch that the server ends after `ends_after`. `version` is a resourceVersion at which
  // the object was `fingerprint`; nullopt: there was none.
  WatchStream(const WatchAccess& access, const WatchedObject& object, std::string version,
              std::optional<std::uint64_t> fingerprint, std::chrono::seconds ends_after,
              std::stop_token stop);
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;

  State state() const { return state_.is; }
  const std::string& problem() const { return state_.why; }  // why it has ended
  // When it was opened, and when the server last said anything.
  MonotonicTime opened() const { return opened_; }
  MonotonicTime heard() const { return heard_; }
  // Whether an event or a bookmark has come, not just an answer.
  bool has_spoken() const { return has_spoken_; }
  // Where the next watch has to go on.
  const std::string& version() const { return version_; }
  std::optional<std::uint64_t> fingerprint() const { return fingerprint_; }
  // The resourceVersion of the last event about the object since the last call, which is no number
  // where the event can't be read; empty: there was none.
  std::string TakeShown();
  // Whether an event since the last call showed another state than the one before it, or one that
  // can't be read. Up to the resourceVersion `known` (empty: none) the caller knows all changes.
  bool TakeChange(const std::string& known = {});

 private:
  void Begin(int status) override;
  void Take(std::string_view bytes) override;
  void End(const std::optional<TransportError>& error) override;
  void NoteWord();
  void ReadLine(std::string_view line);
  void ReadError(JsonValue status);
  void Finish(State state, std::string problem);
  bool HasEnded() const { return state_.is != State::kOpening && state_.is != State::kUp; }

  const WatchAccess& access_;
  const WatchedObject object_;
  const MonotonicTime opened_;
  HttpRequest request_;
  MonotonicTime heard_;
  std::string version_;
  std::optional<std::uint64_t> fingerprint_;
  std::string shown_;
  std::optional<std::string> changed_at_;  // the last change's version; empty: it can't be read
  struct {
    State is = State::kOpening;
    std::string why;  // it has ended
  } state_;
  // One that isn't whole.
  struct {
    std::string begin;
    bool is_passed_over = false;  // it is too long
  } line_;
  bool has_spoken_ = false;
  std::unique_ptr<Stream> stream_;
};

}  // namespace cluster_watcher
