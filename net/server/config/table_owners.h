// TableOwners: which of several independent nodes has which tables, as an operator has listed it.
//
// Every node of a group is given the same list. One that is asked for a table of another refuses
// with the other's address, and nothing was done: so a write that a proxy led to the wrong node
// (the right one was down) is not taken there, where nobody would look for it later.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"

namespace cellar::server {

class TableOwners {
 public:
  static constexpr size_t kMaxEntries = 256;

  // "events=10.0.0.11:7420, users*=10.0.0.12:7420": names of tables, or beginnings of names with an
  // asterisk behind them, with commas between; empty: none. INVALID_ARGUMENT names what is wrong.
  static Result<TableOwners> parse(std::string_view text);
  // As parse() takes it.
  std::string to_string() const;

  bool empty() const { return entries_.empty(); }
  // The node that has the table: the entry of that name, else the longest beginning; null: not
  // listed, every node may have its own.
  const std::string* find(std::string_view table) const;

 private:
  struct Entry {
    std::string name;
    bool prefix = false;
    std::string owner;
  };
  std::vector<Entry> entries_;
};

}  // namespace cellar::server
