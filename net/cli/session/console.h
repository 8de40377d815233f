// Console: destination and style of the output.
#pragma once

#include <fmt/core.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "io/base/result.h"

namespace cellar::cli {

enum class Style : uint8_t { plain, bold, dim, red };

struct Console {
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  std::FILE* in = stdin;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool colour = false;  // on a terminal without NO_COLOR
  bool json = false;    // complaints are objects, one a line

  static Console of_process();

  std::string styled(Style style, std::string_view text) const;
  // Flushes the output. CANCELLED: the reader has closed the pipe; other errors say why output is
  // lost.
  Result<void> finish() const;
  void write(std::string_view text) const { std::fwrite(text.data(), 1, text.size(), out); }
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) const {
    write(fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void complain(fmt::format_string<Args...> format, Args&&... args) const {
    complain_text(fmt::format(format, std::forward<Args>(args)...));
  }
  // "cellar: CODE: message", or {"error":{"code":...,"message":...,"applied":...}}.
  void complain_of(const Error& error) const;

 private:
  void complain_text(std::string_view text) const;
};

}  // namespace cellar::cli
