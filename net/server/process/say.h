// Console messages of the daemon, separate from its log. A closed pipe or a full disk must not end
// a node: it ignores SIGPIPE, and nothing here throws.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace cellar::server {

// Writes immediately. False: not everything was written; errno has the cause.
bool say(std::FILE* to, std::string_view text);

template <class... Args>
bool say(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  return say(to, std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}

// Prints a requested page to standard output and returns the exit code. If the reader of a pipe has
// closed, the process dies of SIGPIPE as usual.
int print_page(std::string_view page);

}  // namespace cellar::server
