// The connections of the webhook, and the memory that their requests hold: who has to go where
// there are too many of them, or where all hold too much.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <utility>

#include "metrics/admission_metrics.h"

namespace cluster_watcher {

struct WebhookConnection {
  explicit WebhookConnection(boost::asio::ip::tcp::socket socket)
      : stream(std::move(socket)), turn(stream.get_executor()) {}

  boost::beast::tcp_stream stream;
  boost::asio::steady_timer
      turn;             // cancelled when its large review may have become the first, or it ends
  bool busy = false;    // with a request
  bool served = false;  // at least one request before
  bool ended = false;
  bool whole = false;    // its large review waits for the worker, or is there
  bool at_work = false;  // it is there, and its body can't be freed
  std::chrono::steady_clock::time_point since =
      std::chrono::steady_clock::now();  // it is busy or idle
  std::size_t held = 0;                  // bytes of a large body, or else of a large answer
  std::size_t most_held = 0;             // in this request
};

class WebhookConnections {
 public:
  // Reviews of up to this many bytes take a few milliseconds at most, and don't count.
  static constexpr std::size_t kQuickBody = 64u << 10;

  // There are at most `most` connections, and their requests hold at most `bodies` bytes.
  WebhookConnections(std::size_t most, std::size_t bodies, AdmissionMetrics& metrics)
      : most_(most), bodies_(bodies), metrics_(metrics) {}

  // Closes another one if there are too many: the new one may be the API server's.
  void MakeRoom();
  void Add(std::shared_ptr<WebhookConnection> connection);
  void Remove(const std::shared_ptr<WebhookConnection>& connection);
  bool IsEmpty() const { return all_.empty(); }
  void CloseIdle();

  // Accounts for what a connection holds now. If all hold too much, closes others, or this one.
  // Returns whether it is still open.
  bool Hold(WebhookConnection& connection, std::size_t bytes);

  // Large reviews that are whole wait for the worker one after the other.
  void Queue(WebhookConnection& connection);
  bool IsNext(const WebhookConnection& connection) const { return large_.front() == &connection; }
  void LeaveQueue(WebhookConnection& connection);

 private:
  void Close(WebhookConnection& connection);
  WebhookConnection* LongestUnderWay() const;
  WebhookConnection* LargestThatWaits() const;

  const std::size_t most_;
  const std::size_t bodies_;
  AdmissionMetrics& metrics_;
  std::list<std::shared_ptr<WebhookConnection>> all_;
  std::list<WebhookConnection*> large_;  // the worker has the first one's
  std::size_t held_ = 0;                 // by all of them
};

}  // namespace cluster_watcher
