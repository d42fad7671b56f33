#include "probes/object_watch.h"

#include <algorithm>
#include <utility>

namespace cluster_watcher {
namespace {

using State = WatchStream::State;

// The server ends a watch after a time between these, so that those of many watchers don't end at
// once.
constexpr std::chrono::seconds kShortestWatch{1'800};
constexpr std::chrono::seconds kLongestWatch{3'600};
// One that has lasted this long was no failure, if a bookmark came.
constexpr Duration kLastingWatch = std::chrono::minutes(1);
constexpr Duration kFirstPause{8'000};

}  // namespace

ObjectWatch::ObjectWatch(KubeClient& client, const WatchAccess& access, WatchedObject object,
                         std::string seen, unsigned seed, OnRestart on_restart)
    : client_(client),
      access_(access),
      object_(std::move(object)),
      on_restart_(std::move(on_restart)),
      jitter_(seed),
      seen_(std::move(seen)) {}

MonotonicTime ObjectWatch::due() const {
  if (!stream_) return pause_.end;
  switch (stream_->state()) {
    case State::kOpening:
      return stream_->opened() + kLongestOpening;
    case State::kUp:
      return stream_->heard() + kLongestSilence;
    case State::kClosed:
    case State::kExpired:
    case State::kUnauthorized:
    case State::kRefused:
    case State::kFailed:
      break;
  }
  return access_.clock.Now();
}

bool ObjectWatch::IsAsNew(const std::string& resource_version) const {
  return shown_.empty() || IsNoLaterVersion(shown_, resource_version);
}

// An event of a server that lags behind another, or counts from the start, makes no read new
// enough.
void ObjectWatch::NoteShown(const std::string& version) {
  const bool is_later = shown_.empty() || IsNoLaterVersion(shown_, version);
  shown_ = is_later ? version : WatchStream::kNoVersion;
}

void ObjectWatch::Tend(std::stop_token stop) {
  if (stream_) {
    if (stream_->TakeChange(known_)) changed_ = true;
    if (const std::string shown = stream_->TakeShown(); !shown.empty()) NoteShown(shown);
    std::string why;
    const auto restart = WhyToRestart(why);
    if (!restart) return;
    End(*restart, why, stop);
  }
  if (access_.clock.Now() >= pause_.end) Begin(stop);
}

std::optional<ObjectWatch::Restart> ObjectWatch::WhyToRestart(std::string& why) const {
  const MonotonicTime now = access_.clock.Now();
  why = stream_->problem();
  switch (stream_->state()) {
    case State::kOpening:
      if (now - stream_->opened() < kLongestOpening) return std::nullopt;
      why = "it was not answered in time";
      return Restart::kError;
    case State::kUp:
      if (now - stream_->heard() < kLongestSilence) return std::nullopt;
      why = "neither an event nor a bookmark came";
      return Restart::kStalled;
    case State::kClosed:
      return Restart::kClosed;
    case State::kExpired:
      return Restart::kExpired;
    case State::kUnauthorized:
    case State::kRefused:
    case State::kFailed:
      break;
  }
  return Restart::kError;
}

void ObjectWatch::End(Restart restart, const std::string& why, const std::stop_token& stop) {
  const State state = stream_->state();
  const bool was_long = access_.clock.Now() - stream_->opened() >= kLastingWatch;
  const bool lasted = was_long && stream_->has_spoken();
  const bool was_silent = restart == Restart::kStalled || (was_long && !lasted);
  from_.version = stream_->version();
  from_.fingerprint = stream_->fingerprint();
  stream_.reset();
  on_restart_({restart, state == State::kRefused, was_silent, why});
  pause_.end = access_.clock.Now();
  if (lasted) pause_.length = Duration(0);
  switch (restart) {
    case Restart::kClosed:
      if (!lasted) Pause();
      return;
    case Restart::kExpired:
      from_.version.clear();
      if (!lasted) Pause();
      return;
    case Restart::kStalled:
      // Nobody knows what got lost with it.
      from_.version.clear();
      return Pause();
    case Restart::kError:
      break;
  }
  // A version that a server has made up must not make each further watch fail.
  if (!lasted) from_.version.clear();
  if (state == State::kRefused) pause_.length = kLongestPause;
  if (state == State::kUnauthorized && access_.tokens.Refresh(stop)) return;
  Pause();
}

// Each time up to twice as long. What breaks all watches must not make all of them begin at once.
void ObjectWatch::Pause() {
  pause_.length = std::clamp(2 * pause_.length, kFirstPause, kLongestPause);
  pause_.end = access_.clock.Now() + Duration(std::uniform_int_distribution<Duration::rep>(
                                         0, pause_.length.count())(jitter_));
}

// Finds the version to begin at.
bool ObjectWatch::Read(const std::stop_token& stop) {
  const auto listed = client_.Do(
      ApiRequest::ListByName(object_.type, object_.ns, object_.name, Freshness::kCached), stop);
  if (!listed) {
    if (stop.stop_requested()) return false;
    const bool refused = !IsTransient(listed.error().failure);
    if (refused) pause_.length = kLongestPause;
    on_restart_({Restart::kError, refused, false, listed.error().message});
    Pause();
    return false;
  }
  const JsonValue item = OnlyItem(*listed);
  from_.version = listed->document.root()["metadata"]["resourceVersion"].AsString().value_or("");
  from_.fingerprint.reset();
  if (item.Exists()) from_.fingerprint = Fingerprint(item, object_.metadata_only);
  const auto version = item["metadata"]["resourceVersion"].AsString();
  NoteShown(std::string(version.value_or(from_.version)));
  // The server's versions may have begun again.
  known_.clear();
  // A change since it was last read will not show any more.
  if (seen_.empty() || version != seen_) changed_ = true;
  seen_.clear();
  return true;
}

void ObjectWatch::Begin(const std::stop_token& stop) {
  if (from_.version.empty() && !Read(stop)) return;
  const auto ends_after = std::uniform_int_distribution<std::chrono::seconds::rep>(
      kShortestWatch.count(), kLongestWatch.count())(jitter_);
  stream_ = std::make_unique<WatchStream>(access_, object_, from_.version, from_.fingerprint,
                                          std::chrono::seconds(ends_after), stop);
}

}  // namespace cluster_watcher
