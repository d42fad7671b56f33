// Fuzzes --completed-when: every text has a reason why it isn't a path, or it can be followed in
// any object. The first line is the text; the rest is the object.
#include "probes/field_path.h"

#include <string>
#include <string_view>

#include "test/fuzz/fuzz.h"

namespace cluster_watcher {

void TryInput(std::string_view input) {
  std::string_view text = input;
  const std::string_view line = TakeLine(text);
  const auto completed = CompletedWhen::Parse(line);
  const auto path = FieldPath::Parse(line.substr(0, line.rfind('=')));
  if (!completed) Require(IsOneLine(completed.error().message), "the reason is one line");
  if (!path) Require(IsOneLine(path.error().message), "the reason is one line");
  if (completed) Require(completed->text() == line, "the text is as written");
  const auto document = JsonDocument::Parse(text);
  if (!document) return;
  if (completed) {
    const auto holds = completed->Holds(document->root());
    if (!holds) Require(IsOneLine(holds.error().message), "the reason is one line");
    Require(!holds || !*holds || document->root().IsObject() || document->root().IsArray(),
            "only what has fields has completed");
  }
  if (path) {
    const auto found = path->Find(document->root());
    if (!found) Require(IsOneLine(found.error().message), "the reason is one line");
  }
}

}  // namespace cluster_watcher
