// Clients that write until the node dies, and record exactly what was acknowledged.
//
// Each writer owns its rows. Row "w<writer>-<number>" is written once, with one value in kColumns
// columns over two families, so that a half-applied row is detected. Row "w<writer>-latest" is
// overwritten with a rising number, so that an undone acknowledged write is detected.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "io/base/result.h"
#include "net/client/sync_client.h"

namespace cellar::process {

inline constexpr int kColumns = 8;
inline constexpr const char* kTable = "kills";

class Writer {
 public:
  explicit Writer(int number) : number_(number) {}

  // Writes through `address`, with `depth` requests in flight, until a request fails.
  void write_until_failure(const std::string& address, int depth);

  uint64_t acknowledged() const { return acknowledged_.size(); }
  const std::set<uint64_t>& acknowledged_rows() const { return acknowledged_; }
  uint64_t started() const { return next_; }
  uint64_t latest_acknowledged() const { return latest_acknowledged_; }
  int number() const { return number_; }

 private:
  const int number_;
  uint64_t next_ = 0;
  std::set<uint64_t> acknowledged_;
  uint64_t latest_acknowledged_ = 0;
};

// Compares the data of the node with the acknowledged writes; returns the violations, empty: none.
std::vector<std::string> check_promises(client::SyncClient& client,
                                        const std::vector<Writer>& writers);

Result<void> create_kill_table(const std::string& address);

}  // namespace cellar::process
