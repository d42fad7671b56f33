// Short notations for lists of short texts.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace cluster_watcher {

// Splits the text at white space.
inline std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Splits each word of "a=b c=" after its first "=".
inline std::vector<std::pair<std::string, std::string>> Pairs(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& word : Words(text)) {
    const std::size_t equals = word.find('=');
    pairs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return pairs;
}

}  // namespace cluster_watcher
