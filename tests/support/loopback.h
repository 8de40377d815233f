#pragma once
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace cellar {

// A loopback address that only this process uses, for nodes that start again on the same port and
// for ports that are fixed. At 127.0.0.1 an outgoing connection of another test can take a port
// while no node listens on it.
inline std::string own_loopback_host() {
  const auto pid = static_cast<uint32_t>(::getpid());
  return fmt::format("127.{}.{}.{}", 1 + (pid >> 16 & 0x7f), pid >> 8 & 0xff, pid & 0xff);
}

}  // namespace cellar
