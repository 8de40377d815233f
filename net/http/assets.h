// The files that are compiled in: the console's, and the description of the API. The source with
// their bytes is made by embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace cellar::http {

struct Asset {
  std::string_view name;  // of the file, without its folder
  std::string_view bytes;
};

std::span<const Asset> assets();

}  // namespace cellar::http
