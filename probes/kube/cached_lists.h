// A transport for whoever looks at many clusters at once: reads of namespaced objects are answered
// from lists of all objects of the kind, each of which is read once. What it says was true when the
// list was read. Other reads are sent once, and writes as they are. Of pods without the cluster
// label, which are most, only what tells whether they run is kept; of nothing who wrote which field
// and what kubectl applied.
//
// What it keeps of lists is bounded: reads of a kind that doesn't fit are sent as they are.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "probes/kube/transport.h"

namespace cluster_watcher {

class CachedLists final : public Transport {
 public:
  struct Limits {
    std::size_t page = 8u << 20;   // bytes of one answer; beyond it fewer objects are asked for
    std::size_t kept = 96u << 20;  // bytes of all lists, about
  };

  // `server` answers what is read for the first time. Lists are of the namespace `ns`; empty: of
  // all namespaces, so that the account must be allowed to list them. `cluster_label`:
  // "oshinko-cluster".
  CachedLists(Transport& server, std::string ns, std::string cluster_label)
      : CachedLists(server, std::move(ns), std::move(cluster_label), Limits()) {}
  CachedLists(Transport& server, std::string ns, std::string cluster_label, Limits limits);
  ~CachedLists() override;

  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t concurrency,
                                  std::stop_token stop) override;

 private:
  class Collection;
  struct Target;

  HttpResult Answer(const HttpRequest& request, const std::stop_token& stop);
  HttpResult Send(const HttpRequest& request, const std::stop_token& stop);
  HttpResult SendOnce(const HttpRequest& request, const std::stop_token& stop);
  // nullptr: it doesn't fit. An error, or an answer that is no list, is not kept unless it is
  // final.
  Result<const Collection*, HttpResult> Find(const Target& target, const HttpRequest& request,
                                             const std::stop_token& stop);

  Transport& server_;
  const std::string ns_;
  const std::string cluster_label_;
  const Limits limits_;
  std::size_t kept_ = 0;
  std::map<std::string, std::unique_ptr<Collection>> collections_;  // by path
  std::map<std::string, HttpResponse> answers_;                     // by target and accepted type
};

}  // namespace cluster_watcher
