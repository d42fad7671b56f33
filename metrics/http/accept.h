// The Accept header of HTTP: the media types that a client prefers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cluster_watcher {

// A media type that the server can answer with. The charset is UTF-8.
struct MediaType {
  std::string_view type;  // "text"
  std::string_view subtype;
  std::string_view version;
};

// One of the header's parts: "text/*", "text/plain;version=0.0.4;q=0.5".
struct MediaRange {
  std::string type;     // lower case, or "*"
  std::string subtype;  // lower case, or "*"
  std::string version;  // "" if any
  std::string charset;  // lower case; "" if any
  int weight = 1000;    // q in thousandths; 0 means not acceptable

  bool Covers(const MediaType& type) const;
  int Specificity() const;  // grows with the number of things that are specified
};

// Returns the ranges in the order of the header. A part that doesn't parse is left out.
std::vector<MediaRange> ParseAccept(std::string_view accept);

// Returns the most specific range that covers `type`, the first one of equals; null if none does.
const MediaRange* MostSpecific(const std::vector<MediaRange>& ranges, const MediaType& type);

}  // namespace cluster_watcher
