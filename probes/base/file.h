// Reads whole files up to a size limit.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>

#include "probes/base/result.h"

namespace cluster_watcher {

// Returns what is left to read of the open `file`. Fails if reading fails or finds more than
// `limit` bytes; the error calls the file `name`.
inline Result<std::string> ReadOpenFile(int file, const std::string& name, std::size_t limit) {
  std::string content;
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t count = read(file, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Failure(name + " can't be read: " + std::generic_category().message(errno));
    }
    if (count == 0) return content;
    content.append(piece.data(), static_cast<std::size_t>(count));
    if (content.size() > limit) {
      return Failure(name + " is larger than " + std::to_string(limit) + " bytes");
    }
  }
}

// Returns the content of the file at `path`. An error begins with the path.
inline Result<std::string> ReadFile(const std::string& path, std::size_t limit, int flags = 0) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (file < 0) {
    return Failure(path + " can't be read: " + std::generic_category().message(errno));
  }
  const struct Closer {
    int file;
    ~Closer() { close(file); }
  } closer{file};
  return ReadOpenFile(file, path, limit);
}

// The same of a file that is read again and again: a named pipe doesn't make the reader wait, and
// is empty where nobody writes to it.
inline Result<std::string> ReadFileAgain(const std::string& path, std::size_t limit) {
  return ReadFile(path, limit, O_NONBLOCK);
}

// Whether nothing is there: what may not be looked at may be.
inline bool IsMissing(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found;
}

}  // namespace cluster_watcher
