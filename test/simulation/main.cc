#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "test/simulation/history.h"
using namespace cluster_watcher::simulation;
int main(int argc, char** argv) {
  Workshop workshop;
  const unsigned long n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100;
  const unsigned long first = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  std::map<std::string, std::uint64_t> counts;
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned long i = 0; i < n; ++i) {
    Outcome o = RunHistory(workshop, first + i, argc > 3);
    for (auto& [k, v] : o.counts) counts[k] += v;
    if (!o.broken.empty()) { ++counts["0 broken " + o.broken.substr(0, 40)]; std::printf("seed %lu: %s\n", o.seed, o.broken.c_str()); }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  for (auto& [k, v] : counts) std::printf("%8lu %s\n", v, k.c_str());
  std::printf("%.3f ms each\n", took.count() * 1000 / double(n));
}
