// What a client likes to be answered with: the Accept header of HTTP.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cluster_watcher {

// Something that can be answered; in UTF-8.
struct MediaType {
  std::string_view type;  // "text"
  std::string_view subtype;
  std::string_view version;
};

// One of the header's parts: "text/*", "text/plain;version=0.0.4;q=0.5".
struct MediaRange {
  std::string type;     // in lower case; or "*"
  std::string subtype;  // the same
  std::string version;  // "" for any
  std::string charset;  // in lower case; "" for any
  int weight = 1000;    // q, in thousandths; 0: not acceptable

  bool Covers(const MediaType& type) const;
  int Specificity() const;  // the more is said, the greater
};

// In the order of the header. A part that is none is left out.
std::vector<MediaRange> ParseAccept(std::string_view accept);

// The range that says the most about `type`, the first of them; null where none covers it.
const MediaRange* MostSpecific(const std::vector<MediaRange>& ranges, const MediaType& type);

}  // namespace cluster_watcher
