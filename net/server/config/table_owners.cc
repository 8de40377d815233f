#include "net/server/config/table_owners.h"

#include <algorithm>

#include "io/net/transport.h"
#include "net/server/config/list_text.h"

namespace cellar::server {
Result<TableOwners> TableOwners::parse(std::string_view text) {
  TableOwners owners;
  while (!trimmed(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t equals = one.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return fail(Errc::invalid_argument, "'{}' is no TABLE=HOST:PORT", one);
    }
    Entry entry;
    entry.name = trimmed(one.substr(0, equals));
    entry.owner = trimmed(one.substr(equals + 1));
    entry.prefix = entry.name.ends_with('*');
    if (entry.prefix) entry.name.pop_back();
    if (auto address = parse_address(entry.owner); !address) {
      return fail(Errc::invalid_argument, "'{}': {}", one, address.error().message);
    }
    owners.entries_.push_back(std::move(entry));
    if (owners.entries_.size() > kMaxEntries) {
      return fail(Errc::invalid_argument, "more than {} owners of tables", kMaxEntries);
    }
  }
  return owners;
}

std::string TableOwners::to_string() const {
  std::string text;
  for (const Entry& entry : entries_) {
    text += fmt::format("{}{}{}={}", text.empty() ? "" : ",", entry.name, entry.prefix ? "*" : "",
                        entry.owner);
  }
  return text;
}

const std::string* TableOwners::find(std::string_view table) const {
  const Entry* best = nullptr;
  for (const Entry& entry : entries_) {
    if (!entry.prefix && entry.name == table) return &entry.owner;
    const bool begins = entry.prefix && table.starts_with(entry.name);
    if (begins && (best == nullptr || entry.name.size() > best->name.size())) best = &entry;
  }
  return best == nullptr ? nullptr : &best->owner;
}

}  // namespace cellar::server
