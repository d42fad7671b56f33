// Lists of short texts, in few lines.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace cluster_watcher {

// What white space separates.
inline std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// "a=b c=": each word up to and after its first "=".
inline std::vector<std::pair<std::string, std::string>> Pairs(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& word : Words(text)) {
    const std::size_t equals = word.find('=');
    pairs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return pairs;
}

}  // namespace cluster_watcher
