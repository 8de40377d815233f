// Keepers: clients that write through the proxy until they are stopped, and record the acknowledged
// rows.
//
// Every write has its own row and a value derived from it, so it is found on whichever node took
// it, or it is lost. Half of the keepers write cells with explicit timestamps, half use tokens;
// both kinds may be repeated after a loss.
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
  // `count` threads through `address`, each with its own routing hint.
  Keepers(std::string address, int count);
  ~Keepers();

  // Ends the writing; waits for the answers of writes in flight.
  void stop();
  // The number of failures since the last call, and the first of them.
  uint64_t take_failures(std::string& first);
  uint64_t acknowledged() const { return acknowledged_; }
  // The acknowledged rows.
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

// The value that a keeper writes to this row.
std::string kept_value(const std::string& row);
// The rows of a node, read without the proxy; a row with a wrong value fails the test.
std::set<std::string> kept_rows(const std::string& address);

}  // namespace cellar::cluster
