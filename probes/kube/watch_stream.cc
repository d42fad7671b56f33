#include "probes/kube/watch_stream.h"

#include <algorithm>
#include <utility>

#include "probes/base/stable_hash.h"

namespace cluster_watcher {
namespace {

constexpr int kGone = 410;

HttpRequest WatchRequest(const WatchedObject& object, const std::string& version,
                         std::chrono::seconds ends_after) {
  HttpRequest request;
  request.target = object.type.CollectionPath(object.ns) +
                   "?watch=1&fieldSelector=metadata.name%3D" + PercentEncode(object.name) +
                   "&allowWatchBookmarks=true&resourceVersion=" + PercentEncode(version) +
                   "&timeoutSeconds=" + std::to_string(ends_after.count());
  if (object.metadata_only) request.accept = kMetadataOnly;
  return request;
}

WatchStream::State StateOf(int status) {
  if (status == 401) return WatchStream::State::kUnauthorized;
  if (status == kGone) return WatchStream::State::kExpired;
  const bool passes = status == 408 || status == 429 || status >= 500;
  return passes ? WatchStream::State::kFailed : WatchStream::State::kRefused;
}

}  // namespace

std::uint64_t Fingerprint(JsonValue object, bool metadata_only) {
  StableHash hash;
  object["metadata"].ForEachMember([&](std::string_view key, JsonValue value) {
    if (key == "resourceVersion" || key == "managedFields") return;
    hash.Add(key);
    hash.Add(value.ToText());
  });
  if (metadata_only) return hash.value();
  object.ForEachMember([&](std::string_view key, JsonValue value) {
    // Items of a list lack these two.
    if (key == "metadata" || key == "kind" || key == "apiVersion") return;
    hash.Add(key);
    hash.Add(value.ToText());
  });
  return hash.value();
}

WatchStream::WatchStream(const WatchAccess& access, const WatchedObject& object,
                         std::string version, std::optional<std::uint64_t> fingerprint,
                         std::chrono::seconds ends_after, std::stop_token stop)
    : access_(access),
      object_(object),
      opened_(access.clock.Now()),
      request_(WatchRequest(object, version, ends_after)),
      heard_(opened_),
      version_(std::move(version)),
      fingerprint_(fingerprint) {
  auto token = access_.tokens.Token(std::move(stop));
  if (!token) {
    Finish(State::kFailed, token.error().message);
    return;
  }
  request_.bearer_token = *std::move(token);
  stream_ = access_.streams.Open(request_, *this);
}

bool WatchStream::TakeChange(const std::string& known) {
  const auto at = std::exchange(changed_at_, std::nullopt);
  const bool is_known = at && !at->empty() && !known.empty() && IsNoLaterVersion(*at, known);
  return at && !is_known;
}

std::string WatchStream::TakeShown() { return std::exchange(shown_, {}); }

void WatchStream::Begin(int status) {
  heard_ = access_.clock.Now();
  access_.observer({request_.method, request_.target, status,
                    std::chrono::duration_cast<std::chrono::microseconds>(heard_ - opened_),
                    false});
  if (status == 200) {
    state_.is = State::kUp;
  } else {
    Finish(StateOf(status), "HTTP " + std::to_string(status));
  }
}

void WatchStream::Take(std::string_view bytes) {
  while (!bytes.empty() && !HasEnded()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    bytes.remove_prefix(std::min(bytes.size(), piece.size() + 1));
    if (line_.begin.size() + piece.size() > kLongestLine) line_ = {"", true};
    if (!line_.is_passed_over) line_.begin += piece;
    if (end == std::string_view::npos) return;
    if (std::exchange(line_.is_passed_over, false)) {
      NoteWord();
      changed_at_ = "";
      shown_ = kNoVersion;
      // The object is not known, so that whatever comes next differs from it.
      fingerprint_.reset();
    } else if (!line_.begin.empty()) {
      ReadLine(std::exchange(line_.begin, {}));
    }
  }
}

void WatchStream::End(const std::optional<TransportError>& error) {
  if (HasEnded()) return;
  if (state_.is == State::kOpening) {
    access_.observer({request_.method, request_.target, 0, std::chrono::microseconds(0), false});
  }
  if (error) return Finish(State::kFailed, error->message);
  if (!line_.begin.empty() || line_.is_passed_over) {
    return Finish(State::kFailed, "it ended within an event");
  }
  Finish(State::kClosed, "the server has closed it");
}

void WatchStream::NoteWord() {
  heard_ = access_.clock.Now();
  has_spoken_ = true;
}

void WatchStream::ReadLine(std::string_view line) {
  const auto document = JsonDocument::Parse(line);
  if (!document) return Finish(State::kFailed, "no event: " + document.error().message);
  const JsonValue event = document->root();
  const std::string_view type = event["type"].AsString().value_or("");
  const JsonValue object = event["object"];
  if (type == "ERROR") return ReadError(object);
  const JsonValue metadata = object["metadata"];
  const auto version = metadata["resourceVersion"].AsString();
  if (type == "BOOKMARK") {
    NoteWord();
    if (version && !version->empty()) version_ = *version;
    return;
  }
  const bool is_known = type == "ADDED" || type == "MODIFIED" || type == "DELETED";
  if (!is_known || !version || version->empty()) {
    return Finish(State::kFailed, "no event of a watch");
  }
  NoteWord();
  // A server that ignores the selector shows the others as well.
  if (metadata["name"].AsString() != object_.name) return;
  version_ = shown_ = *version;
  std::optional<std::uint64_t> now;
  if (type != "DELETED") now = Fingerprint(object, object_.metadata_only);
  if (type == "DELETED" || now != fingerprint_) changed_at_ = version_;
  fingerprint_ = now;
}

void WatchStream::ReadError(JsonValue status) {
  const auto code = status["code"].AsInteger();
  const std::string message(status["message"].AsString().value_or("an error without a message"));
  Finish(code == kGone ? State::kExpired : State::kFailed, message.substr(0, 400));
}

void WatchStream::Finish(State state, std::string problem) {
  state_.is = state;
  state_.why = std::move(problem);
}

}  // namespace cluster_watcher
