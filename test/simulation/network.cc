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

// The weights of fates for reads, then for writes, in the order of Fate without kGood.
constexpr std::array<int, kFates - 1> kReadWeights{4, 0, 0, 0, 0, 3, 4, 0, 2, 2, 1, 4, 0};
constexpr std::array<int, kFates - 1> kWriteWeights{3, 6, 5, 5, 5, 2, 2, 4, 1, 1, 0, 3, 0};

}  // namespace

const char* ToString(Fate fate) {
  constexpr const char* kWords[kFates] = {
      "good", "lost",         "answer lost", "applied late", "applied twice", "409",  "429",
      "5xx",  "applied, 5xx", "401",         "truncated",    "not JSON",      "slow", "kind ails"};
  return kWords[static_cast<std::size_t>(fate)];
}

Network::Network(Timeline& timeline, World& world, Random random, Listener& listener)
    : timeline_(timeline),
      world_(world),
      random_(random),
      listener_(listener),
      proneness_(random_.Next()) {
  world_.kubernetes().GetTokens().Add(token_, {"watcher", {"system:masters"}});
}

void Network::RotateToken() {
  world_.kubernetes().GetTokens().Revoke(token_);
  token_ = "token-" + std::to_string(++tokens_);
  world_.kubernetes().GetTokens().Add(token_, {"watcher", {"system:masters"}});
  write_token(token_);
}

void Network::BeginOutage(Micros length, bool refuses) {
  ++outages_;
  outage_ends_ = timeline_.Now() + length;
  refuses_ = refuses;
}

Micros Network::Latency() { return random_.Between(Micros(20), world_.plan().latency); }

double Network::Proneness(const HttpRequest& request) const {
  if (!world_.plan().uneven) return 1;
  std::uint64_t hash = proneness_ + static_cast<std::uint64_t>(request.method);
  for (const char c : request.target.substr(0, request.target.find('?'))) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return Random(hash).Pick(std::array{0.0, 0.1, 0.3, 1.0, 3.0, 10.0});
}

// Lists fail, and changes, but not deletes: those were never looked up.
bool Network::IsAiling(const HttpRequest& request) const {
  const Plan& plan = world_.plan();
  if (plan.ailing == nullptr || timeline_.Now() < plan.ails_from ||
      timeline_.Now() >= plan.ails_until || request.method == HttpMethod::kDelete) {
    return false;
  }
  if (plan.ailing_writes && request.method == HttpMethod::kGet) return false;
  return request.target.find(std::string("/") + plan.ailing) != std::string::npos;
}

Fate Network::Draw(const HttpRequest& request) {
  if (IsAiling(request)) return Fate::kAiling;
  const bool write = request.method != HttpMethod::kGet;
  const Plan& plan = world_.plan();
  if (!write && plan.flaky > 0 && random_.Chance(plan.flaky)) {
    return random_.Chance(0.5) ? Fate::kThrottled : Fate::kServerError;
  }
  const double share =
      std::min((write ? plan.write_faults : plan.read_faults) * Proneness(request), 0.5);
  if (share == 0 || timeline_.Now() >= world_.plan().calm || !random_.Chance(share)) {
    return Fate::kGood;
  }
  const std::size_t which = random_.Weighted(write ? kWriteWeights : kReadWeights);
  const Fate fate = static_cast<Fate>(which + 1);
  return fate == Fate::kConflict && request.method == HttpMethod::kPost ? Fate::kLost : fate;
}

void Network::Send(std::shared_ptr<const Identity> by, const HttpRequest& request,
                   MonotonicTime called, MonotonicTime by_own_clock,
                   std::shared_ptr<Receiver> receiver, std::size_t index) {
  const std::size_t number = exchanges_.size();
  Exchange& exchange = exchanges_.emplace_back();
  exchange.number = number;
  exchange.by = std::move(by);
  exchange.request = request;
  exchange.called = called;
  exchange.sent = timeline_.Now();
  exchange.by_own_clock = by_own_clock;
  const Fate fate = Draw(request);
  pending_.push_back({std::move(receiver), index, fate, std::nullopt});
  ++fates_[static_cast<std::size_t>(fate)];
  if (world_.journal().on()) {
    const std::string body = request.body.empty() ? "" : " " + request.body;
    const std::string what = fate == Fate::kGood ? "" : " [" + std::string(ToString(fate)) + "]";
    world_.journal().Line(exchange.by->pod, std::string(ToString(request.method)) + " " +
                                                request.target + body + what);
  }
  listener_.Sent(exchange);
  MonotonicTime arrival = timeline_.Now() + Latency();
  if (fate == Fate::kSlow) arrival += random_.Between(Micros(100'000), Micros(4'000'000));
  const MonotonicTime timeout = exchange.sent + request.timeout;
  if (fate == Fate::kLost) {
    if (random_.Chance(0.5)) return Fail(number, arrival, TransportError::Kind::kConnect);
    return Fail(number, timeout, TransportError::Kind::kTimeout);
  }
  if (fate == Fate::kLate) {
    Fail(number, timeout, TransportError::Kind::kTimeout);
    arrival = timeout + random_.Between(Micros(1'000), Micros(20'000'000));
    return timeline_.At(arrival, [this, number] {
      if (!IsTooLate(number)) Handle(number);
    });
  }
  timeline_.At(arrival, [this, number] { Arrive(number); });
}

bool Network::IsTooLate(std::size_t number) const {
  return exchanges_[number].by->is_driver && timeline_.Now() > world_.plan().calm + seconds(1);
}

void Network::Arrive(std::size_t number) {
  using Kind = TransportError::Kind;
  const Exchange& exchange = exchanges_[number];
  const Fate fate = pending_[number].fate;
  const MonotonicTime timeout = exchange.sent + exchange.request.timeout;
  const MonotonicTime back = std::min(timeline_.Now() + Latency(), timeout);
  if (IsTooLate(number)) return Fail(number, back, Kind::kConnect);
  if (timeline_.Now() >= timeout) {
    Handle(number);
    return Fail(number, timeout, Kind::kTimeout);
  }
  if (timeline_.Now() < outage_ends_) {
    if (!refuses_) return Fail(number, timeout, Kind::kTimeout);
    pending_[number].arrives = false;
    return Fail(number, back, Kind::kConnect);
  }
  // The server doesn't take effect in these cases.
  switch (fate) {
    case Fate::kAiling:
      if (world_.plan().ailing_hangs) return Fail(number, timeout, Kind::kTimeout);
      return Answer(number, back, Failure(503, "ServiceUnavailable"), false);
    case Fate::kConflict:
      return Answer(number, back, Failure(409, "Conflict"), false);
    case Fate::kThrottled: {
      Response response = Failure(429, "TooManyRequests");
      if (timeline_.Now() < world_.plan().calm) response.retry_after = random_.Between(1, 5);
      return Answer(number, back, std::move(response), false);
    }
    case Fate::kServerError:
      return Answer(
          number, back,
          random_.Chance(0.5) ? Failure(500, "InternalError") : Failure(503, "ServiceUnavailable"),
          false);
    case Fate::kUnauthorized:
      if (world_.plan().token_rotates && random_.Chance(0.5)) RotateToken();
      return Answer(number, back, Failure(401, "Unauthorized"), false);
    case Fate::kNotJson:
      return Answer(number, back,
                    {random_.Chance(0.5) ? 200 : 404, "<html>", "text/html", std::nullopt}, false);
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
  Response response = Handle(number);
  bool is_true = true;
  if (fate == Fate::kAnswerLost) {
    if (random_.Chance(0.5)) return Fail(number, back, Kind::kConnect);
    return Fail(number, timeout, Kind::kTimeout);
  }
  if (fate == Fate::kAppliedError) {
    response = random_.Chance(0.5) ? Failure(500, "InternalError") : Failure(504, "Timeout");
    is_true = false;
  }
  if (fate == Fate::kTruncated) {
    response.body.resize(response.body.size() / 2);
    is_true = false;
  }
  if (fate == Fate::kDoubled) {
    timeline_.After(random_.Between(Micros(10), Micros(10'000'000)), [this, number] {
      if (!IsTooLate(number)) Handle(number);
    });
  }
  if (back >= timeout) return Fail(number, timeout, Kind::kTimeout);
  Answer(number, back, std::move(response), is_true);
}

Response Network::Handle(std::size_t number) {
  Exchange& exchange = exchanges_[number];
  const HttpRequest& request = exchange.request;
  listener_.Arriving(exchange);
  const bool asks_for_drivers = request.target.find("metadata.name%3Dbob") != std::string::npos ||
                                request.target.find("=uses-oshinko") != std::string::npos;
  if (!exchange.handled && asks_for_drivers) {
    exchange.no_driver_wanted_to_run = !world_.WantsDriverToRun();
    exchange.driver_was_gone = exchange.no_driver_wanted_to_run && !world_.HasDriverLeftPods();
    exchange.was_in_use = world_.IsInUse();
  }
  exchange.handled = true;
  world_.clock().SetWrong(Skew(number));
  Response response =
      world_.kubernetes().Serve({ToString(request.method), request.target, request.bearer_token,
                                 request.accept, request.content_type, request.body});
  world_.clock().SetWrong(Duration(0));
  listener_.Handled(exchange, response.status);
  return response;
}

void Network::Answer(std::size_t number, MonotonicTime at, Response response, bool is_true) {
  Pending& pending = pending_[number];
  pending.response = std::move(response);
  pending.is_true = is_true;
  pending.date = world_.clock().WallNow() + Skew(number);
  timeline_.At(at, [this, number] { Deliver(number); });
}

// A watcher's first connection leads to one API server, those beside it to the other.
bool Network::IsBySecond(std::size_t number) const { return pending_[number].index % 2 == 1; }

Duration Network::Skew(std::size_t number) const {
  return IsBySecond(number) ? world_.plan().skew : Duration(0);
}

void Network::Fail(std::size_t number, MonotonicTime at, TransportError::Kind kind) {
  pending_[number].error = kind;
  timeline_.At(at, [this, number] { Deliver(number); });
}

void Network::Deliver(std::size_t number) {
  Exchange& exchange = exchanges_[number];
  Pending& pending = pending_[number];
  Response& response = pending.response;
  exchange.answered = timeline_.Now();
  if (!pending.error) {
    exchange.status = response.status;
    exchange.answer = response.body;
    exchange.true_answer = pending.is_true;
    exchange.date = pending.date;
  }
  if (world_.journal().on()) {
    const std::string got =
        pending.error ? "no answer" : std::to_string(response.status) + " " + response.body;
    world_.journal().Line(exchange.by->pod, std::string("  ") + ToString(exchange.request.method) +
                                                " " + exchange.request.target + ": " + got);
  }
  const std::shared_ptr<Receiver> receiver = std::move(pending.receiver);
  bool taken = false;
  if (pending.error) {
    taken = receiver->Receive(
        pending.index, Unexpected{TransportError{*pending.error, "simulated", pending.arrives}});
  } else {
    HttpResponse answer;
    answer.status = response.status;
    answer.content_type = std::move(response.content_type);
    answer.body = std::move(response.body);
    if (response.retry_after) answer.retry_after = seconds(*response.retry_after);
    answer.date = pending.date;
    answer.connection = IsBySecond(number) ? 2 : 1;
    answer.elapsed = std::chrono::duration_cast<Micros>(timeline_.Now() - exchange.sent);
    taken = receiver->Receive(pending.index, std::move(answer));
  }
  if (taken) return;
  exchange.answered.reset();
  exchange.status = 0;
}

// --- Watches. ---

void Network::Arrive(const OpenWatch& watch, Micros later,
                     std::function<void(StreamReader&)> what) {
  timeline_.After(Latency() + later,
                  [receiver = watch.receiver, what = std::move(what)] { receiver->Arrive(what); });
}

void Network::Watch(std::shared_ptr<const Identity> by, const HttpRequest& request,
                    std::shared_ptr<WatchReceiver> receiver) {
  ++watches_opened_;
  world_.journal().Line(by->pod, "opens " + request.target);
  timeline_.After(Latency(), [this, pod = by->pod, request, receiver = std::move(receiver)] {
    BeginWatch(pod, request, receiver);
  });
}

void Network::BeginWatch(const std::string& pod, const HttpRequest& request,
                         const std::shared_ptr<WatchReceiver>& receiver) {
  const TransportError broken{TransportError::Kind::kConnect, "simulated"};
  const auto answer = [&](std::function<void(StreamReader&)> what) {
    timeline_.After(Latency(), [receiver, what = std::move(what)] { receiver->Arrive(what); });
  };
  if (timeline_.Now() < outage_ends_) {
    if (refuses_) answer([broken](StreamReader& reader) { reader.End(broken); });
    return;
  }
  std::optional<small_kubernetes::Watch> events;
  const Response response =
      world_.kubernetes().Serve({ToString(request.method), request.target, request.bearer_token,
                                 request.accept, request.content_type, request.body},
                                nullptr, &events);
  int status = response.status;
  if (timeline_.Now() < world_.plan().calm && random_.Chance(world_.plan().watch_faults)) {
    status = random_.Pick(std::array{401, 403, 405, 410, 429, 500});
  }
  answer([status](StreamReader& reader) { reader.Begin(status); });
  if (!events || status != 200) return;
  watches_.push_back({receiver, *std::move(events), pod,
                      timeline_.Now() + random_.Between(Micros(20'000'000), Micros(3'600'000'000)),
                      timeline_.Now() + std::chrono::minutes(1)});
  // What has changed between this version and now.
  if (!Show(watches_.back())) watches_.pop_back();
}

Duration Network::WatchSlack() const {
  if (!world_.plan().watch) return Duration(0);
  return hid_events_ ? std::chrono::minutes(70) : std::chrono::minutes(1);
}

void Network::LookAtWatches() {
  const MonotonicTime now = timeline_.Now();
  const bool changed = std::exchange(shown_version_, world_.kubernetes().GetStore().Version()) !=
                       world_.kubernetes().GetStore().Version();
  if (now < outage_ends_ && refuses_) {
    for (const OpenWatch& watch : watches_) {
      Arrive(watch, Micros(0), [](StreamReader& reader) {
        reader.End(TransportError{TransportError::Kind::kConnect, "simulated"});
      });
    }
    watches_.clear();
    return;
  }
  std::erase_if(watches_, [&](OpenWatch& watch) {
    if (changed && !Show(watch)) return true;
    if (!watch.stalled && now >= watch.next_bookmark) {
      watch.next_bookmark = now + std::chrono::minutes(1);
      Arrive(watch, Micros(0),
             [text = watch.events.Bookmark()](StreamReader& reader) { reader.Take(text); });
    }
    if (now < watch.ends) return false;
    Arrive(watch, Micros(1'000'000), [](StreamReader& reader) { reader.End(std::nullopt); });
    return true;
  });
}

// Returns false if the watch is over.
bool Network::Show(OpenWatch& watch) {
  const std::string events = watch.events.Next();
  for (std::size_t begin = 0; begin < events.size() && !watch.stalled;) {
    const std::size_t end = events.find('\n', begin) + 1;
    const std::string line = events.substr(begin, end - begin);
    begin = end;
    const std::string text = Tamper(watch, line);
    const bool late = text == line && timeline_.Now() < world_.plan().calm &&
                      random_.Chance(world_.plan().watch_faults);
    // A bookmark may overtake it.
    hid_events_ = hid_events_ || late;
    const Micros later = late ? random_.Between(Micros(0), Micros(12'000'000)) : Micros(0);
    Arrive(watch, later, [text](StreamReader& reader) { reader.Take(text); });
  }
  if (!watch.events.IsOver()) return true;
  Arrive(watch, Micros(0), [](StreamReader& reader) { reader.End(std::nullopt); });
  return false;
}

// Returns what arrives instead of the event.
std::string Network::Tamper(OpenWatch& watch, const std::string& line) {
  const Plan& plan = world_.plan();
  if (timeline_.Now() >= plan.calm || !random_.Chance(plan.watch_faults)) return line;
  ++tampered_;
  hid_events_ = true;
  const std::string name = line.find(R"("name":"bob")") != line.npos ? "bob" : World::kRootName;
  const std::string version = std::to_string(random_.Between(1, 2'000));
  switch (random_.Between(0, 7)) {
    case 0:
      return "";
    case 1:
      return line + line;
    case 2:
      return R"({"type":"DELETED","object":{"metadata":{"name":")" + name +
             R"(","resourceVersion":")" + version + "\"}}}\n" + line;
    case 3:
      return R"({"type":"MODIFIED","object":{"metadata":{"name":")" + name +
             R"(","generation":77,"resourceVersion":")" + version +
             "\"},\"spec\":{\"replicas\":0}}}\n";
    case 4:
      return line.substr(0, line.size() / 2) + "\n";
    case 5:
      return R"({"type":"ERROR","object":{"kind":"Status","code":410}})"
             "\n";
    case 6:
      return std::string(70'000, 'x') + "\n";
    default:
      watch.stalled = true;
      return "";
  }
}

}  // namespace cluster_watcher::simulation
