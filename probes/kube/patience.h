// How long requests go on being sent. Every call that asks the API server something takes one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "probes/kube/transport.h"

namespace cluster_watcher {

class LookReads;

class Patience {
 public:
  // Until `stop` is requested; without a token, to the end.
  Patience(std::stop_token stop = {}) : stop_(std::move(stop)) {}

  // Ends also where a request isn't answered in time: requests that were sent beside it are the
  // last ones, all others fail as it did. So a look that needs every answer ends after one time-out
  // and not after as many as there are requests. Copies count as one.
  static Patience UntilTimeout(std::stop_token stop) {
    Patience patience(std::move(stop));
    patience.timed_out_ = std::make_shared<std::optional<TransportError>>();
    return patience;
  }

  // Serves also the reads of one look: what fails for the moment is asked again.
  static Patience OfLook(std::shared_ptr<LookReads> reads, std::stop_token stop) {
    Patience patience = UntilTimeout(std::move(stop));
    patience.reads_ = std::move(reads);
    return patience;
  }

  // Until `stop` is requested, and for reads that don't depend on each other: what fails for the
  // moment is asked again, and a request that isn't answered in time ends nothing.
  static Patience Repeating(std::shared_ptr<LookReads> reads, std::stop_token stop = {}) {
    Patience patience(std::move(stop));
    patience.reads_ = std::move(reads);
    return patience;
  }

  // Sends as long as `may_send` says so, which is asked right before anything is sent: to get a
  // token, to connect, or to wait for others may have taken its time; it must send nothing itself.
  // What isn't sent any more fails as kNotSent.
  static Patience While(std::function<bool()> may_send, std::stop_token stop = {}) {
    Patience patience(std::move(stop));
    patience.may_send_ = std::move(may_send);
    return patience;
  }

  // nullptr: what fails is not asked again.
  LookReads* reads() const { return reads_.get(); }
  const std::stop_token& stop() const { return stop_; }
  const std::function<bool()>& may_send() const { return may_send_; }
  bool EndsWithTimeout() const { return timed_out_ != nullptr; }
  // The time-out that has ended it; nullptr: none has.
  const TransportError* timed_out() const {
    return timed_out_ && *timed_out_ ? &**timed_out_ : nullptr;
  }
  // For the client: this is how a request failed.
  void Note(const TransportError& error) const {
    if (timed_out_ && error.kind == TransportError::Kind::kTimeout) *timed_out_ = error;
  }

 private:
  std::stop_token stop_;
  std::function<bool()> may_send_;                            // empty: always
  std::shared_ptr<std::optional<TransportError>> timed_out_;  // null: a time-out ends nothing
  std::shared_ptr<LookReads> reads_;
};

}  // namespace cluster_watcher
