// TableOwners: the configured assignment of tables to independent nodes.
//
// Every node of a group has the same list. A node refuses a request for another node's table,
// without effect and with the other's address. A write that a proxy sends to the wrong node,
// because the right one is down, is therefore not stored where later reads would miss it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"

namespace cellar::server {

class TableOwners {
 public:
  static constexpr size_t kMaxEntries = 256;

  // "events=10.0.0.11:7420, users*=10.0.0.12:7420": table names, or prefixes followed by an
  // asterisk, separated by commas; empty: none. INVALID_ARGUMENT names the fault.
  static Result<TableOwners> parse(std::string_view text);
  // In the format of parse().
  std::string to_string() const;

  bool empty() const { return entries_.empty(); }
  // The node of the table: the entry of that name, else of the longest prefix. Null: not listed,
  // any node may have a table of that name.
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
