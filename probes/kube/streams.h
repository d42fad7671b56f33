// The transport seam for answers that have no end of their own, such as a watch's: they are read
// as they arrive. Only one thread uses it; nothing happens but in Wait.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

#include "probes/base/clock.h"
#include "probes/kube/transport.h"

namespace cluster_watcher {

// Reads one answer. It must not close its stream while it is called.
class StreamReader {
 public:
  virtual ~StreamReader() = default;

  // The headers are there, with this status.
  virtual void Begin(int status) = 0;
  // Appends what more of the body is there.
  virtual void Take(std::string_view bytes) = 0;
  // Nothing follows. nullopt: the server has ended the answer as HTTP says.
  virtual void End(const std::optional<TransportError>& error) = 0;
};

// A request under way. Its end closes the connection, and its reader isn't called any more.
class Stream {
 public:
  virtual ~Stream() = default;
};

class Streams {
 public:
  virtual ~Streams() = default;

  // Sends the request once somebody waits. It takes as long as it takes: neither its `timeout` nor
  // its `body_limit` counts. `reader` must outlive the stream, and the stream must not outlive
  // this.
  virtual std::unique_ptr<Stream> Open(const HttpRequest& request, StreamReader& reader) = 0;

  // Blocks until `deadline`, until `stop` is requested, or until a reader was called.
  virtual void Wait(MonotonicTime deadline, std::stop_token stop) = 0;
};

}  // namespace cluster_watcher
