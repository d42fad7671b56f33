// Random numbers from a seed: equal on every machine, unlike the standard library's distributions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "probes/base/clock.h"

namespace cluster_watcher::simulation {

using Micros = std::chrono::microseconds;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // SplitMix64.
  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Returns a number from `least` to `most`, both included.
  int Between(int least, int most) {
    return least + static_cast<int>(Next() % static_cast<std::uint64_t>(most - least + 1));
  }
  Micros Between(Micros least, Micros most) {
    const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + Micros(static_cast<Micros::rep>(Next() % span));
  }
  // Returns true with the probability `share`.
  bool Chance(double share) { return static_cast<double>(Next() >> 11) * 0x1p-53 < share; }
  template <typename T, std::size_t size>
  const T& Pick(const std::array<T, size>& of) {
    return of[Next() % size];
  }
  // Returns an index, in proportion to the weights.
  template <std::size_t size>
  std::size_t Weighted(const std::array<int, size>& weights) {
    int all = 0;
    for (const int weight : weights) all += weight;
    int at = Between(0, all - 1);
    std::size_t i = 0;
    for (; at >= weights[i]; ++i) at -= weights[i];
    return i;
  }

 private:
  std::uint64_t state_;
};

}  // namespace cluster_watcher::simulation
