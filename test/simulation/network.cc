#include "test/simulation/network.h"

#include <algorithm>
#include <utility>

namespace cluster_watcher::simulation {
namespace {

using small_kubernetes::Response;
using std::chrono::seconds;

constexpr const char* kStatus = R"({"kind":"Status","apiVersion":"v1","status":"Failure",)";

Response Failure(int code, const char* reason) {
  return {code,
          kStatus + (R"("message":"simulated","reason":")" + std::string(reason)) + R"(","code":)" +
              std::to_string(code) + "}",
          "application/json", std::nullopt};
}

void Give(Exchange& exchange, const Network::Done& done, HttpResult result) {
  if (done(std::move(result))) return;
  exchange.answered.reset();
  exchange.status = 0;
}

// Only these weigh in for reads, then for writes; in the order of Fate, without kGood.
constexpr std::array<int, kFates - 1> kReadWeights{4, 0, 0, 0, 0, 3, 4, 0, 2, 2, 1, 4};
constexpr std::array<int, kFates - 1> kWriteWeights{3, 6, 5, 5, 5, 2, 2, 4, 1, 1, 0, 3};

}  // namespace

const char* ToString(Fate fate) {
  constexpr const char* kWords[kFates] = {
      "good", "lost",         "answer lost", "applied late", "applied twice", "409", "429",
      "5xx",  "applied, 5xx", "401",         "truncated",    "not JSON",      "slow"};
  return kWords[static_cast<std::size_t>(fate)];
}

Network::Network(Timeline& timeline, World& world, Random random, Listener& listener)
    : timeline_(timeline), world_(world), random_(random), listener_(listener) {
  world_.kubernetes().GetTokens().Add(token_, {"watcher", {"system:masters"}});
}

void Network::RotateToken() {
  world_.kubernetes().GetTokens().Revoke(token_);
  token_ = "token-" + std::to_string(++tokens_);
  world_.kubernetes().GetTokens().Add(token_, {"watcher", {"system:masters"}});
}

void Network::BeginOutage(Micros length, bool refuses) {
  ++outages_;
  outage_ends_ = timeline_.Now() + length;
  refuses_ = refuses;
}

Micros Network::Latency() { return random_.Between(Micros(20), world_.plan().latency); }

Fate Network::Draw(const HttpRequest& request) {
  const bool write = request.method != HttpMethod::kGet;
  const double share = write ? world_.plan().write_faults : world_.plan().read_faults;
  if (share == 0 || timeline_.Now() >= world_.plan().calm || !random_.Chance(share)) {
    return Fate::kGood;
  }
  const std::size_t which = random_.Weighted(write ? kWriteWeights : kReadWeights);
  const Fate fate = static_cast<Fate>(which + 1);
  return fate == Fate::kConflict && request.method == HttpMethod::kPost ? Fate::kLost : fate;
}

void Network::Send(const Identity& by, const HttpRequest& request, MonotonicTime called,
                   bool told_to_stop, const Clock& clock, Done done) {
  Exchange& exchange = exchanges_.emplace_back();
  exchange.number = exchanges_.size() - 1;
  exchange.by = by;
  exchange.request = request;
  exchange.called = called;
  exchange.sent = timeline_.Now();
  exchange.told_to_stop = told_to_stop;
  listener_.Sent(exchange);
  const Fate fate = Draw(request);
  ++fates_[static_cast<std::size_t>(fate)];
  if (world_.journal().on()) {
    world_.journal().Line(
        by.pod, std::string(ToString(request.method)) + " " + request.target +
                    (request.body.empty() ? "" : " " + request.body) +
                    (fate == Fate::kGood ? "" : " [" + std::string(ToString(fate)) + "]"));
  }
  MonotonicTime arrival = timeline_.Now() + Latency();
  if (fate == Fate::kSlow) arrival += random_.Between(Micros(100'000), Micros(4'000'000));
  auto& watchers_clock = const_cast<Clock&>(clock);
  if (fate == Fate::kLost) {
    const bool at_once = random_.Chance(0.5);
    Fail(exchange, at_once ? arrival : exchange.sent + request.timeout,
         at_once ? TransportError::Kind::kConnect : TransportError::Kind::kTimeout, watchers_clock,
         std::move(done));
    return;
  }
  if (fate == Fate::kLate) {
    const MonotonicTime timeout = exchange.sent + request.timeout;
    Fail(exchange, timeout, TransportError::Kind::kTimeout, watchers_clock, std::move(done));
    arrival = timeout + random_.Between(Micros(1'000), Micros(20'000'000));
    timeline_.At(arrival, [this, &exchange] { Handle(exchange); });
    return;
  }
  timeline_.At(arrival, [this, &exchange, fate, &watchers_clock, done = std::move(done)] {
    Arrive(exchange, fate, watchers_clock, done);
  });
}

void Network::Arrive(Exchange& exchange, Fate fate, Clock& clock, const Done& done) {
  using Kind = TransportError::Kind;
  const MonotonicTime timeout = exchange.sent + exchange.request.timeout;
  const MonotonicTime back = std::min(timeline_.Now() + Latency(), timeout);
  if (timeline_.Now() >= timeout) {
    Handle(exchange);
    return Fail(exchange, timeout, Kind::kTimeout, clock, done);
  }
  if (timeline_.Now() < outage_ends_) {
    return Fail(exchange, refuses_ ? back : timeout, refuses_ ? Kind::kConnect : Kind::kTimeout,
                clock, done);
  }
  switch (fate) {
    case Fate::kConflict:
      return Answer(exchange, back, Failure(409, "Conflict"), false, clock, done);
    case Fate::kThrottled: {
      Response response = Failure(429, "TooManyRequests");
      response.retry_after = random_.Between(1, 5);
      return Answer(exchange, back, std::move(response), false, clock, done);
    }
    case Fate::kServerError:
      return Answer(
          exchange, back,
          random_.Chance(0.5) ? Failure(500, "InternalError") : Failure(503, "ServiceUnavailable"),
          false, clock, done);
    case Fate::kUnauthorized:
      return Answer(exchange, back, Failure(401, "Unauthorized"), false, clock, done);
    case Fate::kNotJson:
      return Answer(exchange, back,
                    {random_.Chance(0.5) ? 200 : 404, "<html>", "text/html", std::nullopt}, false,
                    clock, done);
    case Fate::kGood:
    case Fate::kLost:
    case Fate::kAnswerLost:
    case Fate::kLate:
    case Fate::kDoubled:
    case Fate::kAppliedError:
    case Fate::kTruncated:
    case Fate::kSlow:
      break;
  }
  Response response = Handle(exchange);
  switch (fate) {
    case Fate::kAnswerLost: {
      const bool at_once = random_.Chance(0.5);
      return Fail(exchange, at_once ? back : timeout, at_once ? Kind::kConnect : Kind::kTimeout,
                  clock, done);
    }
    case Fate::kAppliedError:
      response = random_.Chance(0.5) ? Failure(500, "InternalError") : Failure(504, "Timeout");
      break;
    case Fate::kTruncated:
      response.body.resize(response.body.size() / 2);
      break;
    case Fate::kDoubled:
      timeline_.After(random_.Between(Micros(10), Micros(10'000'000)),
                      [this, &exchange] { Handle(exchange); });
      break;
    case Fate::kGood:
    case Fate::kLost:
    case Fate::kLate:
    case Fate::kConflict:
    case Fate::kThrottled:
    case Fate::kServerError:
    case Fate::kUnauthorized:
    case Fate::kNotJson:
    case Fate::kSlow:
      break;
  }
  if (timeline_.Now() + world_.plan().latency >= timeout && back >= timeout) {
    return Fail(exchange, timeout, Kind::kTimeout, clock, done);
  }
  const bool is_true = fate != Fate::kAppliedError && fate != Fate::kTruncated;
  Answer(exchange, back, std::move(response), is_true, clock, done);
}

Response Network::Handle(Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  listener_.Arriving(exchange);
  if (!exchange.handled && request.method == HttpMethod::kGet) {
    exchange.no_driver_wanted_to_run = !world_.WantsDriverToRun();
    exchange.driver_was_gone = exchange.no_driver_wanted_to_run && !world_.HasDriverLeftPods();
    exchange.was_in_use = world_.IsInUse();
  }
  exchange.handled = true;
  Response response =
      world_.kubernetes().Serve({ToString(request.method), request.target, request.bearer_token,
                                 request.accept, request.content_type, request.body});
  listener_.Handled(exchange, response.status);
  return response;
}

void Network::Answer(Exchange& exchange, MonotonicTime at, Response response, bool is_true,
                     Clock& clock, Done done) {
  const WallTime date = world_.clock().WallNow();
  timeline_.At(at, [this, &exchange, &clock, date, is_true, response = std::move(response),
                    done = std::move(done)] {
    exchange.answered = timeline_.Now();
    exchange.status = response.status;
    exchange.answer = response.body;
    exchange.true_answer = is_true;
    exchange.date = date;
    exchange.watchers_clock = clock.WallNow();
    if (world_.journal().on()) {
      world_.journal().Line(exchange.by.pod, "  " + std::to_string(response.status) + " for " +
                                                 ToString(exchange.request.method) + " " +
                                                 exchange.request.target + " " +
                                                 response.body.substr(0, 3000));
    }
    HttpResponse answer;
    answer.status = response.status;
    answer.content_type = response.content_type;
    answer.body = response.body;
    if (response.retry_after) answer.retry_after = seconds(*response.retry_after);
    answer.date = date;
    answer.elapsed = std::chrono::duration_cast<Micros>(timeline_.Now() - exchange.sent);
    Give(exchange, done, std::move(answer));
  });
}

void Network::Fail(Exchange& exchange, MonotonicTime at, TransportError::Kind kind, Clock& clock,
                   Done done) {
  timeline_.At(at, [this, &exchange, kind, &clock, done = std::move(done)] {
    exchange.answered = timeline_.Now();
    exchange.watchers_clock = clock.WallNow();
    if (world_.journal().on()) {
      world_.journal().Line(exchange.by.pod, std::string("  no answer for ") +
                                                 ToString(exchange.request.method) + " " +
                                                 exchange.request.target);
    }
    Give(exchange, done, Unexpected{TransportError{kind, "simulated"}});
  });
}

}  // namespace cluster_watcher::simulation
