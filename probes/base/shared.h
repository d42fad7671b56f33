// A value that copies share until one of them is edited: thousands of objects may hold the same.
#pragma once

#include <memory>
#include <utility>

namespace cluster_watcher {

template <typename T>
class Shared {
 public:
  Shared() = default;  // shares a default T, and takes no memory
  Shared(T value) : value_(std::make_shared<T>(std::move(value))) {}

  const T& operator*() const { return value_ ? *value_ : Default(); }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }

  // Returns what no copy shares.
  T& Edit() {
    if (value_.use_count() != 1) value_ = std::make_shared<T>(**this);
    return *value_;
  }
  // If `other` is equal it is shared from now on.
  void ShareWith(const Shared& other) {
    if (*this == other) value_ = other.value_;
  }

  friend bool operator==(const Shared& a, const Shared& b) {
    return a.value_ == b.value_ || *a == *b;
  }
  friend bool operator==(const Shared& a, const T& b) { return *a == b; }

 private:
  static const T& Default() {
    static const T value;
    return value;
  }

  std::shared_ptr<T> value_;
};

}  // namespace cluster_watcher
