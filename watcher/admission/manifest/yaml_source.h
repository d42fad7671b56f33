// Reads the scalars of a YAML text again, as kubectl does. yaml-cpp finds the structure, but it
// reads some texts otherwise: what isn't the same to both must not be written as if it were.
// Source: go.yaml.in/yaml/v2, "scannerc.go", as sigs.k8s.io/yaml uses it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cluster_watcher {

// Goes through a text once, from one scalar to the next; each position is a byte that yaml-cpp
// named. Between scalars there may only be indicators, comments, anchors, aliases and tags: where a
// function fails, readers disagree about what stands there.
class YamlSource {
 public:
  explicit YamlSource(std::string_view text) : text_(text) {}

  // Returns the value to kubectl of the scalar, or its anchor or tag, at `begin`. `value` is what
  // yaml-cpp read: unquoted it must be the same. `indent` is the column of the innermost list or
  // map in block style, -1 if there is none.
  std::optional<std::string> ReadScalar(std::size_t begin, int indent, std::string_view value);

  // Passes a null, which may be no text at all.
  bool PassNull(std::size_t begin, int indent);

  // Returns the column of the block that begins at `begin`, perhaps with its anchor or tag.
  int BlockColumn(std::size_t begin) const;

  bool PassEnd() { return PassTo(text_.size()); }

 private:
  class Folder;

  char At(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  bool IsBlank(std::size_t i) const { return At(i) == ' ' || At(i) == '\t'; }
  bool IsBreak(std::size_t i) const { return At(i) == '\n' || At(i) == '\r'; }
  bool IsEnd(std::size_t i) const { return i >= text_.size(); }
  bool IsWhite(std::size_t i) const { return IsBlank(i) || IsBreak(i) || IsEnd(i); }
  bool IsMarker(std::size_t i) const;  // of a document's begin or end
  bool EndsPlain(std::size_t i) const;
  bool BeginsPlain(std::size_t i) const;
  int Column(std::size_t i) const;
  std::size_t LineEnd(std::size_t i) const;
  std::size_t PropertyEnd(std::size_t i) const;  // `i` if readers disagree about it

  bool PassTo(std::size_t end);
  bool PassOne();
  bool PassWhite();
  void PassBreak();
  std::optional<std::string> ReadPlain(int indent);
  std::optional<std::string> ReadQuoted();
  bool ReadEscape(std::string& value);
  std::optional<std::string> ReadBlock(int indent);
  void PassIndent(int parent, int& indent, std::string& breaks);

  std::string_view text_;
  std::size_t at_ = 0;
  int flow_level_ = 0;
  bool has_content_ = false;
};

}  // namespace cluster_watcher
