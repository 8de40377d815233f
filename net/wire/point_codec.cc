#include "net/wire/point_codec.h"

#include <algorithm>

#include "engine/model/key.h"
#include "io/base/check.h"

namespace cellar::wire {
namespace {

constexpr auto kSameFamily = static_cast<uint8_t>(fb::CellFlag::SameFamily);
constexpr auto kSameColumn = static_cast<uint8_t>(fb::CellFlag::SameColumn);
constexpr auto kHasTimestamp = static_cast<uint8_t>(fb::MutationFlag::HasTimestamp);
constexpr auto kHasExpireAt = static_cast<uint8_t>(fb::MutationFlag::HasExpireAt);
constexpr auto kHasTtl = static_cast<uint8_t>(fb::MutationFlag::HasTtl);

template <class Rec>
bool take(Bytes& from, Rec& rec) {
  static_assert(std::is_trivially_copyable_v<Rec>);
  if (from.size() < sizeof rec) return false;
  std::memcpy(&rec, from.data(), sizeof rec);
  from.remove_prefix(sizeof rec);
  return true;
}

bool take(Bytes& from, size_t size, Bytes& out) {
  if (from.size() < size) return false;
  out = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

template <class Rec>
void append(std::string& out, const Rec& rec) {
  out.append(reinterpret_cast<const char*>(&rec), sizeof rec);
}

void pad(std::string& out, size_t from) {
  out.append(pad_to_8(out.size() - from) - (out.size() - from), '\0');
}

bool is_padding(Bytes rest) {
  return rest.size() < 8 && std::ranges::all_of(rest, [](char c) { return c == '\0'; });
}

std::unexpected<Error> cut_short(std::string_view what) {
  return fail(Errc::invalid_argument, "the {} lies outside the body", what);
}

Result<void> check_row(Bytes row) {
  if (row.empty()) return fail(Errc::invalid_argument, "the row key is empty");
  if (row.size() <= kMaxRowKeyBytes) return {};
  return fail(Errc::invalid_argument, "the row key of {} bytes is over the limit of {}", row.size(),
              kMaxRowKeyBytes);
}

Result<void> check_end(Bytes rest) {
  if (is_padding(rest)) return {};
  return fail(Errc::invalid_argument, "{} bytes follow the end of the request", rest.size());
}

// Reads family and qualifier of a cell. `last` are those of the cell before it, if there is one.
template <class Rec>
Result<void> take_column(const Rec& rec, Bytes& from, size_t index, const Mutation* last,
                         Mutation& out) {
  const bool same_column = (rec.flags() & kSameColumn) != 0;
  const bool same_family = same_column || (rec.flags() & kSameFamily) != 0;
  const bool sizes_fit =
      (!same_family || rec.family_size() == 0) && (!same_column || rec.qualifier_size() == 0);
  if ((same_family && last == nullptr) || !sizes_fit) {
    return fail(Errc::invalid_argument, "operation {}: flags {:#x} do not fit", index, rec.flags());
  }
  if (same_family) {
    out.family = last->family;
  } else if (!take(from, rec.family_size(), out.family)) {
    return cut_short("family");
  }
  if (same_column) {
    out.qualifier = last->qualifier;
  } else if (!take(from, rec.qualifier_size(), out.qualifier)) {
    return cut_short("qualifier");
  }
  return {};
}

Result<void> take_cell(Bytes& from, size_t index, const Mutation* last, Mutation& out) {
  fb::PutCellRec rec;
  if (!take(from, rec)) return cut_short("cell");
  constexpr uint8_t kKnown = kHasTimestamp | kHasExpireAt | kHasTtl | kSameFamily | kSameColumn;
  if ((rec.flags() & ~kKnown) != 0) {
    return fail(Errc::invalid_argument, "operation {}: flags {:#x} do not exist", index,
                rec.flags() & ~kKnown);
  }
  TRY_VOID(take_column(rec, from, index, last, out));
  if (!take(from, rec.value_size(), out.value)) return cut_short("value");
  // A client cannot send the numbers that mean "none" here: they become negative values, which are
  // refused.
  if (rec.flags() & kHasTimestamp) {
    out.timestamp_us = rec.timestamp() == kServerStamped ? -1 : rec.timestamp();
  }
  const bool expire_at = (rec.flags() & kHasExpireAt) != 0;
  const bool ttl = (rec.flags() & kHasTtl) != 0;
  if (expire_at && ttl) {
    return fail(Errc::invalid_argument, "operation {}: both expire_at and ttl are given", index);
  }
  if (expire_at) out.expire_at_us = std::min(rec.until(), kLastExpiryUs);
  if (ttl) out.ttl_us = rec.until() == kNoTtl ? -1 : rec.until();
  return {};
}

}  // namespace

Result<void> decode_get(Bytes body, DecodedGet& out) {
  out.columns.clear();
  fb::GetRec rec;
  if (!take(body, rec)) return cut_short("request");
  out.versions = rec.versions();
  Bytes recs;
  if (!take(body, rec.column_count() * sizeof(fb::ColumnRec), recs)) return cut_short("columns");
  if (!take(body, rec.row_size(), out.row)) return cut_short("row key");
  TRY_VOID(check_row(out.row));
  for (uint16_t i = 0; i < rec.column_count(); ++i) {
    fb::ColumnRec column;
    (void)take(recs, column);
    auto& [family, qualifier] = out.columns.emplace_back();
    if (column.reserved() != 0) {
      return fail(Errc::invalid_argument, "column {}: a reserved field is not 0", i);
    }
    if (!take(body, column.family_size(), family) ||
        !take(body, column.qualifier_size(), qualifier)) {
      return cut_short("column");
    }
  }
  return check_end(body);
}

Bytes row_of_get(Bytes body) {
  fb::GetRec rec;
  Bytes recs;
  Bytes row;
  const bool has_row = take(body, rec) &&
                       take(body, rec.column_count() * sizeof(fb::ColumnRec), recs) &&
                       take(body, rec.row_size(), row);
  return has_row && row.size() <= kMaxRowKeyBytes ? row : Bytes();
}

Bytes row_of_put(Bytes body) {
  fb::PutRec rec;
  Bytes row;
  const bool has_row = take(body, rec) && take(body, rec.row_size(), row);
  return has_row && row.size() <= kMaxRowKeyBytes ? row : Bytes();
}

Result<void> decode_put(Bytes body, DecodedWrites& out) {
  out.rows.clear();
  out.mutations.clear();
  fb::PutRec rec;
  if (!take(body, rec)) return cut_short("request");
  const auto durability = static_cast<fb::Durability>(rec.durability());
  const bool by_table = durability == fb::Durability::TableDefault;
  if (!by_table && durability > fb::Durability::Memory) {
    return fail(Errc::invalid_argument, "durability {} does not exist", rec.durability());
  }
  if (rec.reserved8() != 0 || rec.reserved16() != 0) {
    return fail(Errc::invalid_argument, "a reserved field is not 0");
  }
  out.target = {};
  if (!by_table) out.target.level = static_cast<Durability>(durability);
  RowWrite& row = out.rows.emplace_back();
  if (!take(body, rec.row_size(), row.row)) return cut_short("row key");
  row.count = rec.cell_count();
  for (size_t i = 0; i < rec.cell_count(); ++i) {
    Mutation cell;
    TRY_VOID(take_cell(body, i, i == 0 ? nullptr : &out.mutations.back(), cell));
    out.mutations.push_back(cell);
  }
  return check_end(body);
}

void append_get(std::string& out, const DecodedGet& get) {
  const size_t from = out.size();
  append(out, fb::GetRec(get.versions, static_cast<uint16_t>(get.row.size()),
                         static_cast<uint16_t>(get.columns.size())));
  for (const auto& [family, qualifier] : get.columns) {
    append(out, fb::ColumnRec(static_cast<uint16_t>(qualifier.size()),
                              static_cast<uint8_t>(family.size()), 0));
  }
  out.append(get.row);
  for (const auto& [family, qualifier] : get.columns) out.append(family).append(qualifier);
  pad(out, from);
}

void append_put(std::string& out, const RowMutation& row, std::optional<Durability> level) {
  const size_t from = out.size();
  const auto durability =
      level ? static_cast<uint8_t>(*level) : static_cast<uint8_t>(fb::Durability::TableDefault);
  CHECK(!row.mutations.empty() && row.mutations.size() <= UINT16_MAX);
  append(out, fb::PutRec(static_cast<uint16_t>(row.row.size()),
                         static_cast<uint16_t>(row.mutations.size()), durability, 0, 0));
  out.append(row.row);
  const Mutation* last = nullptr;
  for (const Mutation& cell : row.mutations) {
    CHECK(cell.kind == Mutation::Kind::set_cell);
    const bool same_family = last != nullptr && last->family == cell.family;
    const bool same_column = same_family && last->qualifier == cell.qualifier;
    uint8_t flags = same_column ? kSameColumn : same_family ? kSameFamily : uint8_t{0};
    int64_t until = 0;
    if (cell.timestamp_us != kServerStamped) flags |= kHasTimestamp;
    if (cell.expire_at_us != kNoExpiry) {
      flags |= kHasExpireAt;
      until = cell.expire_at_us;
    } else if (cell.ttl_us != kNoTtl) {
      flags |= kHasTtl;
      until = cell.ttl_us;
    }
    append(out, fb::PutCellRec(
                    cell.timestamp_us == kServerStamped ? 0 : cell.timestamp_us, until,
                    static_cast<uint32_t>(cell.value.size()),
                    same_column ? uint16_t{0} : static_cast<uint16_t>(cell.qualifier.size()),
                    same_family ? uint8_t{0} : static_cast<uint8_t>(cell.family.size()), flags));
    if (!same_family) out.append(cell.family);
    if (!same_column) out.append(cell.qualifier);
    out.append(cell.value);
    last = &cell;
  }
  pad(out, from);
}

GotReader::GotReader(Bytes body) : left_(body) {
  fb::GotRec rec;
  if (take(left_, rec)) {
    cells_left_ = rec.cell_count();
    intact_ = true;
  }
}

bool GotReader::next(GotCell& cell) {
  if (!intact_) return false;
  if (cells_left_ == 0) {
    intact_ = is_padding(left_);
    return false;
  }
  --cells_left_;
  fb::GotCellRec rec;
  intact_ = take(left_, rec);
  if (!intact_) return false;
  const bool same_column = (rec.flags() & kSameColumn) != 0;
  const bool same_family = same_column || (rec.flags() & kSameFamily) != 0;
  if (!same_family) intact_ = take(left_, rec.family_size(), last_.family);
  if (!same_column) intact_ = intact_ && take(left_, rec.qualifier_size(), last_.qualifier);
  intact_ = intact_ && take(left_, rec.value_size(), last_.value);
  last_.timestamp_us = rec.timestamp();
  cell = last_;
  return intact_;
}

Bytes put_reply(const fb::PutReply& reply) {
  return {reinterpret_cast<const char*>(&reply), sizeof reply};
}

bool parse_put_reply(Bytes body, fb::PutReply& out) { return take(body, out) && body.empty(); }

CellSink::Flow GotBuilder::cell(const CellView& cell) {
  const bool same_family =
      cells_ != 0 && Bytes(out_.data() + family_at_, family_size_) == cell.family;
  const bool same_column =
      same_family && Bytes(out_.data() + qualifier_at_, qualifier_size_) == cell.qualifier;
  const uint8_t flags = same_column ? kSameColumn : same_family ? kSameFamily : uint8_t{0};
  const fb::GotCellRec rec(cell.timestamp_us, static_cast<uint32_t>(cell.value.size()),
                           same_column ? uint16_t{0} : static_cast<uint16_t>(cell.qualifier.size()),
                           same_family ? uint8_t{0} : static_cast<uint8_t>(cell.family.size()),
                           flags);
  append(out_, rec);
  if (!same_family) {
    family_at_ = out_.size();
    family_size_ = cell.family.size();
    out_.append(cell.family);
  }
  if (!same_column) {
    qualifier_at_ = out_.size();
    qualifier_size_ = cell.qualifier.size();
    out_.append(cell.qualifier);
  }
  out_.append(cell.value);
  ++cells_;
  return out_.size() - at_ < target_bytes_ ? Flow::more : Flow::pause;
}

void GotBuilder::finish() {
  const fb::GotRec rec(cells_, 0);
  std::memcpy(out_.data() + at_, &rec, sizeof rec);
  pad(out_, at_);
}

}  // namespace cellar::wire
