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

// A message may quote what was given, such as a value of megabytes. Its middle is left out, because
// the reason stands before or behind the quote.
constexpr size_t kMaxMessageHead = 6u << 10;
constexpr size_t kMaxMessageTail = 2u << 10;

std::string bounded(std::string_view text) {
  if (text.size() <= kMaxMessageHead + kMaxMessageTail) return std::string(text);
  const auto inside = [&](size_t at) { return (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80; };
  size_t head = kMaxMessageHead;
  size_t tail = text.size() - kMaxMessageTail;
  while (head > 0 && inside(head)) --head;  // not in the middle of a character
  while (tail < text.size() && inside(tail)) ++tail;
  return fmt::format("{} ... {}", text.substr(0, head), text.substr(tail));
}

// For a terminal, which would obey quoted control characters. Lines of a message stay lines, and
// what is escaped in it already is not escaped twice.
std::string harmless(std::string_view text) {
  std::string out;
  while (true) {
    const size_t at = text.find_first_of("\n\\");
    out += escaped(text.substr(0, at));
    if (at == text.npos) return out;
    out += text[at];
    text.remove_prefix(at + 1);
  }
}

// A message may quote bytes that were given and are not UTF-8.
std::string json_message(std::string_view text) {
  const std::string message = bounded(text);
  return json_string(is_utf8(message) ? message : escape_bytes(message));
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
           : fmt::format("cellar: {}\n", harmless(bounded(text)));
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
