// A transport to a small Kubernetes that now and then lies: it gives answers to other requests or
// of other kinds, truncated or damaged ones, or none.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "probes/kube/transport.h"

namespace cluster_watcher::adversary {

// A request and its answer.
struct Exchange {
  HttpRequest request;
  HttpResult answer;
};

class Liar final : public Transport {
 public:
  Liar(Transport& truth, std::uint64_t seed) : truth_(truth), random_(seed) {}

  // Lies about one answer in so many; 0: never.
  void LieOnceIn(unsigned answers) { once_in_ = answers; }

  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t concurrency,
                                  std::stop_token stop) override;

  // Refuses lists by name, as for an account that may only get.
  void RefuseListsByName(bool refused) { refuses_lists_ = refused; }

  // The exchanges since this was last cleared.
  std::vector<Exchange>& Heard() { return heard_; }
  std::uint64_t Answers() const { return answers_; }
  // How often each kind of lie was told.
  const std::map<std::string, std::uint64_t>& Lies() const { return lies_; }

 private:
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  HttpResult Lie(HttpResult truth);
  void DamageBytes(std::string& body);
  void DamageJson(std::string& body);

  Transport& truth_;
  std::mt19937_64 random_;
  unsigned once_in_ = 0;
  bool refuses_lists_ = false;
  std::vector<Exchange> heard_;
  std::vector<HttpResponse> recorded_;  // true answers to other requests
  std::uint64_t answers_ = 0;
  std::map<std::string, std::uint64_t> lies_;
};

}  // namespace cluster_watcher::adversary
