// Streams for tests: they show what was asked for, and the test says what arrives.
#pragma once

#include <memory>
#include <string>

#include "probes/kube/streams.h"

namespace cluster_watcher {

// Shows what is asked for, and lets a test answer it.
class FakeStreams final : public Streams {
 public:
  std::unique_ptr<Stream> Open(const HttpRequest& of, StreamReader& by) override {
    request = of;
    reader = &by;
    return std::make_unique<Stream>();
  }
  void Wait(MonotonicTime, std::stop_token) override {}

  HttpRequest request;
  StreamReader* reader = nullptr;
};

// An event about a Job, as a line of a watch. `more` follows the metadata.
inline std::string Event(const std::string& type, int version, const std::string& more,
                         const std::string& name = "bob") {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name +
         R"(","resourceVersion":")" + std::to_string(version) + R"(","managedFields":[)" +
         std::to_string(version) + "]}" + more + "}}\n";
}

}  // namespace cluster_watcher
