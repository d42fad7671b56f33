// Reading a whole small file: credentials and kubeconfigs.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

#include "probes/result.h"

namespace cluster_watcher {

// The content of the file at `path`. An error, which begins with the path, where it can't be read
// or holds more than `limit` bytes.
inline Result<std::string> ReadFile(const std::string& path, std::size_t limit) {
  const auto failed = [&path] {
    return Failure(path + " can't be read: " + std::generic_category().message(errno));
  };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed();
  const struct Closer {
    int file;
    ~Closer() { close(file); }
  } closer{file};

  std::string content;
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t count = read(file, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed();
    if (count == 0) return content;
    content.append(piece.data(), static_cast<std::size_t>(count));
    if (content.size() > limit) {
      return Failure(path + " is larger than " + std::to_string(limit) + " bytes");
    }
  }
}

}  // namespace cluster_watcher
