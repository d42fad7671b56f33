#include "test/small_kubernetes/local_streams.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "test/small_kubernetes/target.h"

namespace cluster_watcher::small_kubernetes {
namespace {

constexpr Duration kBookmarks = std::chrono::minutes(1);
constexpr Duration kStep{10};

}  // namespace

class LocalStreams::LocalStream final : public Stream {
 public:
  LocalStream(LocalStreams& all, const HttpRequest& request, StreamReader& reader)
      : all_(all), reader_(reader), opened_(all.clock_.Now()), bookmark_(opened_ + kBookmarks) {
    const Request asked{ToString(request.method), request.target,       request.bearer_token,
                        request.accept,           request.content_type, request.body};
    response_ = all_.kubernetes_.Serve(asked, nullptr, &watch_);
    const std::string seconds(ParseTarget(request.target).Query("timeoutSeconds"));
    const Duration asked_for = std::chrono::seconds(std::atoll(seconds.c_str()));
    ends_ = opened_ + all_.ends_after.value_or(asked_for);
    if (all_.status != 200) {
      watch_.reset();
      response_ = {all_.status, "no\n", "text/plain", std::nullopt};
    }
    all_.open_.push_back(this);
  }
  ~LocalStream() override { std::erase(all_.open_, this); }

  // Returns whether the reader was told anything.
  bool Deliver() {
    if (over_) return false;
    if (all_.stalled && begun_) {
      // What is between ends what is idle.
      if (all_.ends_after && all_.clock_.Now() >= ends_) End(std::nullopt);
      return over_;
    }
    if (!begun_) {
      begun_ = true;
      reader_.Begin(response_.status);
      if (!watch_) {
        reader_.Take(response_.body);
        End(std::nullopt);
      }
      return true;
    }
    std::string events = watch_->Next();
    const bool has_bookmark = events.empty() && all_.clock_.Now() >= bookmark_;
    if (!events.empty() && all_.tamper) events = all_.tamper(std::move(events));
    if (has_bookmark) {
      bookmark_ = all_.clock_.Now() + kBookmarks;
      events = watch_->Bookmark();
    }
    if (!events.empty()) reader_.Take(events);
    const bool ends = watch_->IsOver() || all_.clock_.Now() >= ends_;
    if (ends) End(std::nullopt);
    return ends || !events.empty();
  }
  MonotonicTime Next() const { return over_ ? MonotonicTime::max() : std::min(bookmark_, ends_); }
  void End(const std::optional<TransportError>& error) {
    over_ = true;
    reader_.End(error);
  }

 private:
  LocalStreams& all_;
  StreamReader& reader_;
  const MonotonicTime opened_;
  MonotonicTime bookmark_;
  MonotonicTime ends_;
  Response response_;
  std::optional<Watch> watch_;
  bool begun_ = false;
  bool over_ = false;
};

std::unique_ptr<Stream> LocalStreams::Open(const HttpRequest& request, StreamReader& reader) {
  opened.push_back(request.target);
  return std::make_unique<LocalStream>(*this, request, reader);
}

bool LocalStreams::Deliver() {
  bool any = false;
  for (LocalStream* stream : std::vector(open_)) any = stream->Deliver() || any;
  return any;
}

void LocalStreams::Wait(MonotonicTime deadline, std::stop_token stop) {
  while (!stop.stop_requested() && !Deliver() && clock_.Now() < deadline) {
    MonotonicTime next = clock_.Next(deadline);
    for (const LocalStream* stream : open_) next = std::min(next, stream->Next());
    // One that is stalled has let its times pass.
    clock_.WaitUntil(std::min(deadline, std::max(next, clock_.Now() + kStep)), stop);
  }
}

void LocalStreams::BreakAll() {
  for (LocalStream* stream : std::vector(open_)) {
    stream->End(TransportError{TransportError::Kind::kConnect, "reset"});
  }
}

}  // namespace cluster_watcher::small_kubernetes
