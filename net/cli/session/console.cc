#include "net/cli/session/console.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"

namespace cellar::cli {
namespace {

std::string_view name_of(Applied applied) {
  switch (applied) {
    case Applied::not_applied:
      return "not_applied";
    case Applied::maybe_applied:
      return "maybe_applied";
    case Applied::applied:
      return "applied";
  }
  return "maybe_applied";
}

// A message may quote bytes that were given and are not UTF-8.
std::string json_message(std::string_view text) {
  return json_string(is_utf8(text) ? std::string(text) : escape_bytes(text));
}

}  // namespace

Console Console::of_process() {
  Console console;
  console.in_is_terminal = ::isatty(STDIN_FILENO) == 1;
  console.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  console.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  console.colour = console.out_is_terminal && !dumb && (no_color == nullptr || *no_color == '\0');
  return console;
}

Result<void> Console::finish() const {
  errno = 0;
  if (std::fflush(out) == 0 && std::ferror(out) == 0) return {};
  const int why = errno;  // 0: an earlier write failed
  pollfd reader{::fileno(out), 0, 0};
  if (::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0) {
    return fail(Errc::cancelled, "nobody reads the output any more");
  }
  return fail(Errc::internal, "not all of the output could be written{}{}", why != 0 ? ": " : "",
              why != 0 ? std::strerror(why) : "");
}

std::string Console::styled(Style style, std::string_view text) const {
  if (!colour || style == Style::plain) return std::string(text);
  const char* code = style == Style::bold ? "1" : style == Style::dim ? "2" : "31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void Console::complain_text(std::string_view text) const {
  std::fflush(out);
  const std::string line =
      json ? fmt::format("{{\"error\":{{\"message\":{}}}}}\n", json_message(text))
           : fmt::format("cellar: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), err);
}

void Console::complain_of(const Error& error) const {
  if (!json) return complain_text(error.to_string());
  std::fflush(out);
  const std::string line =
      fmt::format("{{\"error\":{{\"code\":\"{}\",\"message\":{},\"applied\":\"{}\"}}}}\n",
                  errc_name(error.code), json_message(error.message), name_of(error.applied));
  std::fwrite(line.data(), 1, line.size(), err);
}

}  // namespace cellar::cli
