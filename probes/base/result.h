// Result<T, E>: a value or an error. The names are those of std::expected, which the C++20
// libraries of Debian 12 lack.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace cluster_watcher {

// Wraps an error, so that it converts to any Result with that error type.
template <typename E>
struct Unexpected {
  E error;
};
template <typename E>
Unexpected(E) -> Unexpected<E>;

// An error for people only; its text names the object and the operation.
struct Error {
  std::string message;
};

inline Unexpected<Error> Failure(std::string message) { return {Error{std::move(message)}}; }

template <typename T, typename E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  template <typename F>
  Result(Unexpected<F> unexpected) : state_(std::in_place_index<1>, std::move(unexpected.error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Requires has_value().
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  // Requires !has_value().
  E& error() & { return *std::get_if<1>(&state_); }
  const E& error() const& { return *std::get_if<1>(&state_); }
  E&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, E> state_;
};

// Success without a value, as in `Result<Done>`.
struct Done {};

}  // namespace cluster_watcher
