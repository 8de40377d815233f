// Compiled-in files: the console and the API description. embed.cmake generates the source with
// their bytes.
#pragma once

#include <span>
#include <string_view>

namespace cellar::http {

struct Asset {
  std::string_view name;  // file name without its folder
  std::string_view bytes;
};

std::span<const Asset> assets();

}  // namespace cellar::http
