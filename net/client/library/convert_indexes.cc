// Values of indexes.
#include "net/client/library/convert.h"

namespace cellar::library {

namespace {

client::RowRange range_of(const v0::RowRange& range) {
  return {range.start, range.end, range.start_open, range.end_closed};
}

template <class To, class From>
std::optional<To> enum_of(const std::optional<From>& from) {
  return from ? std::optional(static_cast<To>(*from)) : std::nullopt;
}

v0::Index public_index(const client::IndexSpec& from) {
  v0::Index to;
  to.name = from.name;
  to.family = from.family;
  to.qualifier = from.qualifier;
  for (const client::IndexPart part : from.parts) {
    to.order.push_back(static_cast<v0::IndexPart>(part));
  }
  to.type = enum_of<v0::IndexType>(from.type);
  to.match = static_cast<v0::IndexMatch>(from.match);
  for (const client::IndexColumn& column : from.covered) {
    to.covered.push_back({column.family, column.qualifier});
  }
  to.max_age_us = from.max_age_us;
  to.tighter_base = enum_of<v0::TighterBase>(from.tighter_base);
  return to;
}

}  // namespace

client::IndexSpec to_internal(const v0::Index& from) {
  client::IndexSpec to;
  to.name = from.name;
  to.family = from.family;
  to.qualifier = from.qualifier;
  for (const v0::IndexPart part : from.order) {
    to.parts.push_back(static_cast<client::IndexPart>(part));
  }
  to.type = enum_of<client::IndexType>(from.type);
  to.match = static_cast<client::IndexMatch>(from.match);
  for (const v0::IndexColumn& column : from.covered) {
    to.covered.push_back({column.family, column.qualifier});
  }
  to.max_age_us = from.max_age_us;
  to.tighter_base = enum_of<client::TighterBase>(from.tighter_base);
  return to;
}

client::AlterIndex to_internal(const std::string& table, const v0::IndexChange& from) {
  client::AlterIndex to;
  to.table = table;
  to.name = from.name;
  to.max_age_given = from.max_age_given;
  to.max_age_us = from.max_age_us;
  to.tighter_base = enum_of<client::TighterBase>(from.tighter_base);
  return to;
}

client::ReadIndex to_internal(const v0::ReadIndex& from) {
  client::ReadIndex to;
  to.index = from.index;
  to.value = from.value;
  if (from.values) to.values = range_of(*from.values);
  to.qualifier = from.qualifier;
  if (from.qualifiers) to.qualifiers = range_of(*from.qualifiers);
  to.start_us = from.start_us;
  to.end_us = from.end_us;
  to.keys = from.keys;
  for (const v0::RowRange& range : from.ranges) to.ranges.push_back(range_of(range));
  to.whole_rows = from.whole_rows;
  if (from.filter) to.filter = to_internal(*from.filter);
  to.limit = from.limit;
  to.reversed = from.reversed;
  return to;
}

std::vector<v0::IndexState> to_public(const std::vector<client::IndexDescription>& indexes) {
  std::vector<v0::IndexState> made;
  for (const client::IndexDescription& from : indexes) {
    v0::IndexState& to = made.emplace_back();
    to.index = public_index(from.index);
    to.ready = from.ready;
    to.done_bytes = from.done_bytes;
    to.total_bytes = from.total_bytes;
    to.entries = from.entries;
    to.bytes = from.bytes;
    to.skipped = from.skipped;
  }
  return made;
}

}  // namespace cellar::library
