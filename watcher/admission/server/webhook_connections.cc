#include "watcher/admission/server/webhook_connections.h"

#include <algorithm>
#include <tuple>

namespace cluster_watcher {

void WebhookConnections::Add(std::shared_ptr<WebhookConnection> connection) {
  all_.push_back(std::move(connection));
  metrics_.SetConnections(all_.size());
}

void WebhookConnections::Remove(const std::shared_ptr<WebhookConnection>& connection) {
  all_.remove(connection);
  metrics_.SetConnections(all_.size());
}

void WebhookConnections::Queue(WebhookConnection& connection) {
  large_.push_back(&connection);
  connection.whole = true;
}

void WebhookConnections::LeaveQueue(WebhookConnection& connection) {
  connection.whole = connection.at_work = false;
  large_.remove(&connection);
  if (!large_.empty()) large_.front()->turn.cancel();
}

void WebhookConnections::MakeRoom() {
  if (all_.size() < most_) return;
  const auto is_unserved = [](const auto& c) { return !c->served && !c->busy && !c->ended; };
  const auto unserved = std::count_if(all_.begin(), all_.end(), is_unserved);
  // Whoever holds served ones must not have each newcomer displace the one before it.
  const bool are_many = static_cast<std::size_t>(unserved) > most_ / 2;
  const auto order = [are_many](const WebhookConnection& c) {
    return std::tuple(c.busy, are_many && c.served, c.since);
  };
  WebhookConnection* first = nullptr;
  for (const auto& one : all_) {
    if (!one->ended && (!first || order(*one) < order(*first))) first = one.get();
  }
  if (first) Close(*first);
}

void WebhookConnections::CloseIdle() {
  for (const auto& connection : all_) {
    if (!connection->busy && !connection->ended) Close(*connection);
  }
}

void WebhookConnections::Close(WebhookConnection& connection) {
  connection.ended = true;
  if (!connection.at_work) held_ -= std::exchange(connection.held, 0);
  connection.turn.cancel();
  connection.stream.close();
}

// Counts only what is large: the rest is bounded by the number of connections.
// If all hold too much, closes those whose requests take longest: an honest one takes milliseconds.
// Large reviews that are whole stay, since whoever cut off the first of them again and again would
// leave none to be answered, up to half of the bound: beyond it the largest that waits goes, if it
// is larger. Returns whether this one is still open.
bool WebhookConnections::Hold(WebhookConnection& connection, std::size_t bytes) {
  const std::size_t counted = bytes > kQuickBody ? bytes : 0;
  held_ += counted - connection.held;
  connection.held = counted;
  connection.most_held = std::max(connection.most_held, bytes);
  while (held_ > bodies_ && !connection.ended) {
    WebhookConnection* victim = LargestThatWaits();
    WebhookConnection* const other = LongestUnderWay();
    if (victim == nullptr || (other != nullptr && other->held > victim->held)) victim = other;
    Close(victim == nullptr ? connection : *victim);
  }
  return !connection.ended;
}

// nullptr: none is under way.
WebhookConnection* WebhookConnections::LongestUnderWay() const {
  WebhookConnection* longest = nullptr;
  for (const auto& one : all_) {
    if (one->held == 0 || one->whole || one->ended) continue;
    if (longest == nullptr || one->since < longest->since) longest = one.get();
  }
  return longest;
}

// nullptr: none waits, or all that are whole hold no more than their half.
WebhookConnection* WebhookConnections::LargestThatWaits() const {
  std::size_t whole = 0;
  WebhookConnection* largest = nullptr;
  for (WebhookConnection* one : large_) {
    whole += one->held;
    if (!one->at_work && !one->ended && (!largest || one->held > largest->held)) largest = one;
  }
  return whole > bodies_ / 2 ? largest : nullptr;
}

}  // namespace cluster_watcher
