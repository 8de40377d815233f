// The encoding of a commit in the log, and the entries it consists of.
#include "engine/model/mutation.h"

#include "engine/model/token.h"
#include "io/base/coding.h"

namespace cellar {
namespace {

constexpr uint8_t kRowCommit = 1;
constexpr uint8_t kRangeDelete = 2;
constexpr uint8_t kTokenCommit = 3;
constexpr uint8_t kRangeDeletesWithToken = 4;
constexpr uint8_t kHasExpiry = 1;

std::unexpected<Error> malformed(CommitStamp stamp, const char* what) {
  return fail(Errc::data_loss, "commit {} is malformed: {}", stamp, what);
}

void encode_operation(std::string& out, const Mutation& op) {
  put_u8(out, static_cast<uint8_t>(op.kind));
  if (op.kind == Mutation::Kind::delete_from_row) return;
  put_bytes(out, op.family);
  if (op.kind == Mutation::Kind::delete_from_family) return;
  put_bytes(out, op.qualifier);
  if (op.kind == Mutation::Kind::delete_from_column) {
    put_varint(out, zigzag(op.start_us));
    put_varint(out, zigzag(op.end_us));
    return;
  }
  put_varint(out, zigzag(op.timestamp_us));
  const bool expires = op.expire_at_us != kNoExpiry;
  put_u8(out, expires ? kHasExpiry : 0);
  if (expires) put_varint(out, zigzag(op.expire_at_us));
  put_bytes(out, op.value);
}

// False if the bytes are not an operation.
bool decode_operation(Reader& in, Mutation& op) {
  op = Mutation{};
  op.kind = static_cast<Mutation::Kind>(in.u8());
  if (!in.ok() || op.kind < Mutation::Kind::set_cell || op.kind > Mutation::Kind::delete_from_row)
    return false;
  if (op.kind == Mutation::Kind::delete_from_row) return true;
  op.family = in.bytes();
  if (op.family.empty() || op.family.find('\0') != Bytes::npos) return false;
  if (op.kind == Mutation::Kind::delete_from_family) return in.ok();
  op.qualifier = in.bytes();
  if (op.kind == Mutation::Kind::delete_from_column) {
    op.start_us = in.signed_varint();
    op.end_us = in.signed_varint();
    return in.ok() && op.start_us >= 0 && op.end_us >= op.start_us;
  }
  op.timestamp_us = in.signed_varint();
  const uint8_t flags = in.u8();
  if ((flags & ~kHasExpiry) != 0) return false;
  if ((flags & kHasExpiry) != 0) op.expire_at_us = in.signed_varint();
  op.value = in.bytes();
  return in.ok() && op.timestamp_us >= 0;
}

Result<void> visit_row_commit(Reader& in, CommitStamp stamp, bool with_token,
                              CommitVisitor& visitor) {
  const Bytes row = in.bytes();
  const uint64_t count = in.varint();
  if (!in.ok() || row.empty()) return malformed(stamp, "no row key");
  std::string key;
  std::string value;
  Mutation op;
  for (uint64_t i = 0; i < count; ++i) {
    if (!decode_operation(in, op)) return malformed(stamp, "an operation cannot be read");
    key.clear();
    value.clear();
    switch (op.kind) {
      case Mutation::Kind::set_cell:
        append_cell(key, row, op.family, op.qualifier, op.timestamp_us, stamp);
        append_cell_value(value, op.value, op.expire_at_us);
        break;
      case Mutation::Kind::delete_from_column:
        append_column_delete(key, row, op.family, op.qualifier, stamp, op.start_us, op.end_us);
        break;
      case Mutation::Kind::delete_from_family:
        append_family_delete(key, row, op.family, stamp);
        break;
      case Mutation::Kind::delete_from_row:
        append_row_delete(key, row, stamp);
        break;
    }
    visitor.entry(key, value);
  }
  if (with_token) {
    const Bytes id = in.bytes();
    const Bytes record = in.bytes();
    if (!in.ok() || id.empty()) return malformed(stamp, "its token cannot be read");
    key.clear();
    append_token(key, row, id, stamp);
    visitor.token(key, record);
  }
  if (!in.at_end()) return malformed(stamp, "bytes after the last operation");
  return {};
}

Result<void> visit_range_deletes(Reader& in, CommitStamp stamp, CommitVisitor& visitor) {
  std::vector<RangeDelete> ranges;
  for (uint64_t count = in.varint(); count > 0 && in.ok(); --count) {
    RangeDelete& range = ranges.emplace_back();
    range.start = in.bytes();
    range.end = in.bytes();
  }
  TokenEntry token;
  token.id = in.bytes();
  token.record = in.bytes();
  TokenRecord record;
  if (!in.ok() || !in.at_end() || token.id.empty() || !parse_token_record(token.record, record)) {
    return malformed(stamp, "range deletes with a token cannot be read");
  }
  for (const RangeDelete& range : ranges) visitor.range_delete(range, stamp);
  visitor.range_token(token, ranges, stamp);
  return {};
}

}  // namespace

void encode_row_commit(std::string& out, Bytes row, std::span<const Mutation> canonical,
                       const TokenEntry* token) {
  put_u8(out, token == nullptr ? kRowCommit : kTokenCommit);
  put_bytes(out, row);
  put_varint(out, canonical.size());
  for (const Mutation& op : canonical) encode_operation(out, op);
  if (token == nullptr) return;
  put_bytes(out, token->id);
  put_bytes(out, token->record);
}

void encode_range_delete(std::string& out, const RangeDelete& range) {
  put_u8(out, kRangeDelete);
  put_bytes(out, range.start);
  put_bytes(out, range.end);
}

void encode_range_deletes(std::string& out, std::span<const RangeDelete> ranges,
                          const TokenEntry& token) {
  put_u8(out, kRangeDeletesWithToken);
  put_varint(out, ranges.size());
  for (const RangeDelete& range : ranges) {
    put_bytes(out, range.start);
    put_bytes(out, range.end);
  }
  put_bytes(out, token.id);
  put_bytes(out, token.record);
}

Result<void> visit_commit(Bytes payload, CommitStamp stamp, CommitVisitor& visitor) {
  Reader in(payload);
  const uint8_t kind = in.u8();
  if (in.ok() && kind == kRangeDeletesWithToken) return visit_range_deletes(in, stamp, visitor);
  if (in.ok() && (kind == kRowCommit || kind == kTokenCommit)) {
    return visit_row_commit(in, stamp, kind == kTokenCommit, visitor);
  }
  if (!in.ok() || kind != kRangeDelete) return malformed(stamp, "unknown kind");
  RangeDelete range;
  range.start = in.bytes();
  range.end = in.bytes();
  if (!in.ok() || !in.at_end()) return malformed(stamp, "a range delete cannot be read");
  visitor.range_delete(range, stamp);
  return {};
}

}  // namespace cellar
