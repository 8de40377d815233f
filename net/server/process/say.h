// What a program that is a node says to whoever started it, beside its log. That somebody has gone
// away, or that a disk is full, is no reason for a node to end: a node ignores SIGPIPE, and nothing
// here throws.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace cellar::server {

// At once. False: not all of it could be written, and errno says why.
bool say(std::FILE* to, std::string_view text);

template <class... Args>
bool say(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  return say(to, std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}

// A page that was asked for instead of serving, on standard output; the exit code. In a pipe whose
// reader has gone away it ends the program by SIGPIPE, as programs end there.
int print_page(std::string_view page);

}  // namespace cellar::server
