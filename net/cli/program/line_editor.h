// Line editing on a terminal with history and completion, using libedit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/cli/program/complete.h"
#include "net/cli/session/console.h"

namespace cellar::cli {

class LineEditor {
 public:
  static constexpr int kHistoryLines = 1000;
  using Completion = std::function<std::vector<Candidate>(const std::string& line_to_cursor)>;

  // Empty `history_path`: no history. The file and its directory are created with access for the
  // user only.
  LineEditor(const Console& console, std::string prompt, std::string history_path,
             Completion completion);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class End : uint8_t { line, interrupted, end_of_input };
  // Reads the next line, without its newline.
  End next(std::string& line);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// $XDG_STATE_HOME/cellar/history, or ~/.local/state/cellar/history; empty without a home directory.
std::string history_path();

}  // namespace cellar::cli
