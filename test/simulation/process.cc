#include "test/simulation/process.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cluster_watcher::simulation {

// Requests sent side by side. The batch may outlive the code that waits for it.
struct Process::Batch final : Receiver, std::enable_shared_from_this<Process::Batch> {
  Batch(Process& of, std::span<const HttpRequest> of_requests)
      : process(of),
        requests(of_requests),
        results(of_requests.size()),
        called(of.timeline_.Now()),
        by_own_clock(of.wall_.Now()) {}

  bool complete() const { return next == requests.size() && open == 0; }

  void Launch() {
    while (next < requests.size()) {
      const std::size_t i = next++;
      if (!requests[i].MaySend()) {
        results[i] = Unexpected{TransportError{TransportError::Kind::kNotSent, "not sent"}};
        continue;
      }
      ++open;
      return process.network_.Send(process.identity_, requests[i], called, by_own_clock,
                                   shared_from_this(), i);
    }
  }

  bool Receive(std::size_t index, HttpResult result) override {
    if (closed) return false;
    if (process.paused_) {
      process.Post([self = shared_from_this(), index, late = std::move(result)]() mutable {
        if (!self->closed) self->Take(index, std::move(late));
      });
    } else {
      Take(index, std::move(result));
    }
    return true;
  }

  void Take(std::size_t index, HttpResult result) {
    results[index] = std::move(result);
    --open;
    if (next < requests.size()) Launch();
    if (complete()) process.Resume();
  }

  Process& process;
  const std::span<const HttpRequest> requests;
  std::vector<std::optional<HttpResult>> results;
  const MonotonicTime called;
  const MonotonicTime by_own_clock;
  std::size_t next = 0;
  std::size_t open = 0;
  bool closed = false;  // nobody waits any more
};

class Process::ProcessClock final : public Clock {
 public:
  explicit ProcessClock(Process& process) : process_(process) {}

  MonotonicTime Now() override { return process_.wall_.Now(); }
  WallTime WallNow() override { return process_.wall_.WallNow(); }
  BootTime BootNow() override { return BootTime(process_.timeline_.Now().time_since_epoch()); }
  bool WaitUntil(MonotonicTime deadline, std::stop_token stop) override {
    MonotonicTime awaited{};
    while (Now() < deadline && !stop.stop_requested()) {
      // It is later if the machine has been suspended since.
      if (deadline != MonotonicTime::max() && awaited != deadline + process_.wall_.slept()) {
        awaited = deadline + process_.wall_.slept();
        process_.WakeAt(awaited);
      }
      process_.Suspend();
    }
    return !stop.stop_requested();
  }

 private:
  Process& process_;
};

class Process::ProcessTransport final : public Transport {
 public:
  explicit ProcessTransport(Process& process) : process_(process) {}

  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t concurrency,
                                  std::stop_token stop) override {
    if (IsReview(requests) && !process_.world_.plan().ask_permissions) return Refuse(requests);
    const auto batch = std::make_shared<Batch>(process_, requests);
    struct Closer {
      Batch& batch;
      ~Closer() { batch.closed = true; }
    } closer{*batch};
    Dawdle();
    if (!stop.stop_requested()) {
      for (std::size_t i = 0; i < concurrency && batch->next < requests.size(); ++i) {
        batch->Launch();
      }
    }
    while (!batch->complete() && !stop.stop_requested()) process_.Suspend();
    std::vector<HttpResult> results;
    results.reserve(requests.size());
    for (auto& result : batch->results) {
      if (result) {
        results.push_back(*std::move(result));
      } else {
        results.push_back(Unexpected{TransportError{TransportError::Kind::kStopped, "stopped"}});
      }
    }
    return results;
  }

 private:
  // These would be a quarter of all requests, and prove nothing.
  static bool IsReview(std::span<const HttpRequest> requests) {
    return !requests.empty() && requests.front().method == HttpMethod::kPost &&
           requests.front().target.ends_with("/selfsubjectaccessreviews");
  }
  static std::vector<HttpResult> Refuse(std::span<const HttpRequest> requests) {
    HttpResponse response;
    response.status = 503;
    return std::vector<HttpResult>(requests.size(), response);
  }

  // Simulates a process that isn't scheduled between a discovery and its consequence.
  void Dawdle() {
    const Plan& plan = process_.world_.plan();
    if (plan.dawdling == 0 || process_.timeline_.Now() >= plan.calm ||
        !process_.random_.Chance(plan.dawdling)) {
      return;
    }
    const MonotonicTime until =
        process_.timeline_.Now() + process_.random_.Between(Micros(1'000), Micros(12'000'000));
    process_.WakeAt(until);
    while (process_.timeline_.Now() < until) process_.Suspend();
  }

  Process& process_;
};

// What has arrived of an answer that has no end. It may outlive its reader.
struct Process::Feed final : WatchReceiver, std::enable_shared_from_this<Process::Feed> {
  explicit Feed(Process& of) : process(of) {}

  bool Arrive(std::function<void(StreamReader&)> what) override {
    if (closed) return false;
    process.Post([self = shared_from_this(), what = std::move(what)] {
      if (self->closed) return;
      self->arrived.push_back(what);
      self->process.Resume();
    });
    return true;
  }

  Process& process;
  std::deque<std::function<void(StreamReader&)>> arrived;
  bool closed = false;
};

class Process::ProcessStreams final : public Streams {
 public:
  explicit ProcessStreams(Process& process) : process_(process) {}

  std::unique_ptr<Stream> Open(const HttpRequest& request, StreamReader& reader) override {
    return std::make_unique<ProcessStream>(*this, request, reader);
  }

  void Wait(MonotonicTime deadline, std::stop_token stop) override {
    MonotonicTime awaited{};
    while (!Read() && process_.wall_.Now() < deadline && !stop.stop_requested()) {
      const MonotonicTime wake = deadline + process_.wall_.slept();
      if (awaited != wake) process_.WakeAt(awaited = wake);
      process_.Suspend();
    }
  }

 private:
  class ProcessStream final : public Stream {
   public:
    ProcessStream(ProcessStreams& all, const HttpRequest& request, StreamReader& reader)
        : all_(all), reader_(reader), feed_(std::make_shared<Feed>(all.process_)) {
      all_.open_.push_back(this);
      all_.process_.network_.Watch(all_.process_.identity_, request, feed_);
    }
    ~ProcessStream() override {
      feed_->closed = true;
      std::erase(all_.open_, this);
    }
    bool Read() {
      const auto arrived = std::exchange(feed_->arrived, {});
      for (const auto& what : arrived) what(reader_);
      return !arrived.empty();
    }

   private:
    ProcessStreams& all_;
    StreamReader& reader_;
    const std::shared_ptr<Feed> feed_;
  };

  bool Read() {
    bool any = false;
    for (ProcessStream* stream : open_) any = stream->Read() || any;
    return any;
  }

  Process& process_;
  std::vector<ProcessStream*> open_;
};

Process::Process(Stacks& stacks, Timeline& timeline, World& world, Network& network,
                 MachineClock& wall, Random random, Identity identity)
    : timeline_(timeline),
      world_(world),
      network_(network),
      wall_(wall),
      random_(random),
      identity_(std::make_shared<const Identity>(std::move(identity))),
      fiber_(stacks, [this] {
        ProcessClock clock(*this);
        ProcessTransport transport(*this);
        ProcessStreams streams(*this);
        streams_ = &streams;
        Run(clock, transport, stop_.get_token());
      }) {}

void Process::Start() {
  Post([this] { Resume(); });
}

void Process::WakeAt(MonotonicTime time) {
  timeline_.At(time, [this, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) Post([this] { Resume(); });
  });
}

void Process::Post(std::function<void()> action) {
  if (paused_) {
    posted_.push_back(std::move(action));
  } else {
    action();
  }
}

void Process::Resume() {
  if (running_ || fiber_.ended()) return;
  running_ = true;
  fiber_.Resume();
  running_ = false;
}

void Process::Terminate() {
  stop_.request_stop();
  WakeAt(timeline_.Now());
}

void Process::Kill() {
  alive_.reset();
  posted_.clear();
  running_ = true;
  fiber_.Kill();
  running_ = false;
}

void Process::Pause() { paused_ = true; }

void Process::Continue() {
  paused_ = false;
  while (!posted_.empty() && !paused_) {
    auto action = std::move(posted_.front());
    posted_.pop_front();
    action();
  }
}

}  // namespace cluster_watcher::simulation
