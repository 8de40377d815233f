// Keepers: clients that write through the proxy for as long as they are let, and remember what they
// were promised.
//
// Every write has a row of its own and a value made of it, so whichever node took it, it is found
// there or it is lost. Half of the keepers write cells with timestamps of their own, half give
// their writes tokens; both may be sent again after a loss.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cellar::cluster {

inline constexpr const char* kKept = "kept";  // the table; its family is "f"

class Keepers {
 public:
  // `count` threads through `address`, each with a routing hint of its own.
  Keepers(std::string address, int count);
  ~Keepers();

  // Ends the writing; every write under way is answered first.
  void stop();
  // Failures since the last time this was asked; what the first was.
  uint64_t take_failures(std::string& first);
  uint64_t acknowledged() const { return acknowledged_; }
  // Rows that were acknowledged.
  const std::set<std::string>& promises() const { return promises_; }

 private:
  void write(int number);

  const std::string address_;
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> acknowledged_ = 0;
  std::mutex mutex_;
  uint64_t failures_ = 0;
  std::string first_failure_;
  std::set<std::string> promises_;
  std::vector<std::thread> threads_;
};

// The value that a row of a keeper has.
std::string kept_value(const std::string& row);
// The rows of a node, read past the proxy; a row with a wrong value ends the test.
std::set<std::string> kept_rows(const std::string& address);

}  // namespace cellar::cluster
