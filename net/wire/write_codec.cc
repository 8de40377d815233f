#include "net/wire/write_codec.h"

#include <algorithm>

#include "engine/model/key.h"

namespace cellar::wire {
namespace {

using Recs = flatbuffers::Vector<const fb::MutationRec*>;

constexpr uint8_t kSetFlags = bit(fb::MutationFlag::HasTimestamp) |
                              bit(fb::MutationFlag::HasExpireAt) | bit(fb::MutationFlag::HasTtl);
constexpr uint8_t kDeleteColumnFlags =
    bit(fb::MutationFlag::HasStart) | bit(fb::MutationFlag::HasEnd);

// The bytes a request may refer to. Everything except family names counts against the arena once,
// so that a small frame cannot expand to a large write.
struct Arena {
  Bytes bytes;
  size_t left;

  explicit Arena(Bytes b) : bytes(b), left(b.size()) {}
  bool take(const fb::Span& span, Bytes& out) {
    if (!view(span, bytes, out) || out.size() > left) return false;
    left -= out.size();
    return true;
  }
};

std::unexpected<Error> bad_span(size_t index, std::string_view what) {
  return fail(Errc::invalid_argument, "operation {}: the {} lies outside the arena", index, what);
}

std::optional<Durability> level_of(fb::Durability durability) {
  if (durability == fb::Durability::TableDefault) return std::nullopt;
  return static_cast<Durability>(durability);
}

Result<void> check_durability(fb::Durability durability) {
  if (durability == fb::Durability::TableDefault || durability <= fb::Durability::Memory) return {};
  return fail(Errc::invalid_argument, "durability {} does not exist", static_cast<int>(durability));
}

Result<void> decode_set(const fb::MutationRec& rec, size_t index, Arena& arena, Mutation& out) {
  if (!arena.take(rec.value(), out.value)) return bad_span(index, "value");
  if (rec.flags() & bit(fb::MutationFlag::HasTimestamp)) {
    // A client cannot send kServerStamped as a timestamp: it becomes a negative value, which is
    // refused.
    out.timestamp_us = rec.at() == kServerStamped ? -1 : rec.at();
  }
  const bool expire_at = rec.flags() & bit(fb::MutationFlag::HasExpireAt);
  const bool ttl = rec.flags() & bit(fb::MutationFlag::HasTtl);
  if (expire_at && ttl) {
    return fail(Errc::invalid_argument, "operation {}: both expire_at and ttl are given", index);
  }
  if (expire_at) out.expire_at_us = std::min(rec.until(), kLastExpiryUs);
  // A client cannot send kNoTtl as a TTL: it becomes a negative value, which is refused.
  if (ttl) out.ttl_us = rec.until() == kNoTtl ? -1 : rec.until();
  return {};
}

Result<void> decode_record(const fb::MutationRec& rec, size_t index, Arena& arena, Mutation& out) {
  uint8_t allowed = 0;
  switch (static_cast<fb::MutationKind>(rec.kind())) {
    case fb::MutationKind::SetCell:
      allowed = kSetFlags;
      break;
    case fb::MutationKind::DeleteFromColumn:
      allowed = kDeleteColumnFlags;
      break;
    case fb::MutationKind::DeleteFromFamily:
    case fb::MutationKind::DeleteFromRow:
      break;
    default:
      return fail(Errc::invalid_argument, "operation {}: kind {} does not exist", index,
                  rec.kind());
  }
  if ((rec.flags() & ~allowed) != 0) {
    return fail(Errc::invalid_argument, "operation {}: flags {:#x} do not belong to kind {}", index,
                rec.flags() & ~allowed, rec.kind());
  }
  if (rec.reserved16() != 0 || rec.reserved32() != 0) {
    return fail(Errc::invalid_argument, "operation {}: a reserved field is not 0", index);
  }
  out = Mutation();
  out.kind = static_cast<Mutation::Kind>(rec.kind());
  if (out.kind == Mutation::Kind::delete_from_row) return {};
  if (!view(rec.family(), arena.bytes, out.family)) return bad_span(index, "family");
  if (out.kind == Mutation::Kind::delete_from_family) return {};
  if (!arena.take(rec.qualifier(), out.qualifier)) return bad_span(index, "qualifier");
  if (out.kind == Mutation::Kind::set_cell) return decode_set(rec, index, arena, out);
  if (rec.flags() & bit(fb::MutationFlag::HasStart)) out.start_us = rec.at();
  if (rec.flags() & bit(fb::MutationFlag::HasEnd)) out.end_us = rec.until();
  return {};
}

// For requests on one row or range. A present token is not empty; the engine checks its length.
template <class Out>
Result<void> decode_token(const fb::Token* token, Out& out) {
  out.token = {};
  if (token == nullptr) return {};
  out.token = bytes_of(token->token());
  out.token_issued_us = token->issued_us();
  if (out.token.empty()) return fail(Errc::invalid_argument, "the token is empty");
  return {};
}

// Appends `count` mutations starting at `first` to out.mutations and closes `row` with them.
Result<void> decode_records(const Recs& recs, size_t first, size_t count, Arena& arena,
                            RowWrite& row, DecodedWrites& out) {
  row.first = static_cast<uint32_t>(out.mutations.size());
  row.count = static_cast<uint32_t>(count);
  for (size_t i = 0; i < count; ++i) {
    const auto index = static_cast<flatbuffers::uoffset_t>(first + i);
    TRY_VOID(decode_record(*recs.Get(index), i, arena, out.mutations.emplace_back()));
  }
  return {};
}

void clear(DecodedWrites& out) {
  out.rows.clear();
  out.mutations.clear();
}

}  // namespace

Result<void> decode(const fb::MutateRowRequest& request, DecodedWrites& out) {
  clear(out);
  TRY_VOID(check_durability(request.durability()));
  TRY_VOID(check_aligned(request.mutations(), "operations"));
  out.target = {text(request.table()), level_of(request.durability())};
  Arena arena(bytes_of(request.arena()));
  RowWrite row;
  if (!arena.take(*request.row(), row.row)) {
    return fail(Errc::invalid_argument, "the row key lies outside the arena");
  }
  TRY_VOID(decode_records(*request.mutations(), 0, request.mutations()->size(), arena, row, out));
  TRY_VOID(decode_token(request.token(), row));
  out.rows.push_back(row);
  return {};
}

Result<void> decode(const fb::MutateRowsRequest& request, DecodedWrites& out) {
  clear(out);
  TRY_VOID(check_durability(request.durability()));
  TRY_VOID(check_aligned(request.mutations(), "operations"));
  TRY_VOID(check_aligned(request.entries(), "entries"));
  out.target = {text(request.table()), level_of(request.durability())};
  if (request.entries()->size() == 0) {
    return fail(Errc::invalid_argument, "the request has no entries");
  }
  if (request.entries()->size() > kMaxBatchEntries) {
    return fail(Errc::invalid_argument, "the request has {} entries, the limit is {}",
                request.entries()->size(), kMaxBatchEntries);
  }
  Arena arena(bytes_of(request.arena()));
  const Recs& recs = *request.mutations();
  size_t taken = 0;
  for (const fb::EntryRec* entry : *request.entries()) {
    RowWrite row;
    if (!arena.take(entry->row(), row.row) || !arena.take(entry->token(), row.token)) {
      return fail(Errc::invalid_argument, "entry {}: row key or token lies outside the arena",
                  out.rows.size());
    }
    if (entry->mutation_count() > recs.size() - taken) {
      return fail(Errc::invalid_argument, "entry {}: {} operations, but only {} are left",
                  out.rows.size(), entry->mutation_count(), recs.size() - taken);
    }
    TRY_VOID(decode_records(recs, taken, entry->mutation_count(), arena, row, out));
    row.token_issued_us = entry->token_issued_us();
    taken += entry->mutation_count();
    out.rows.push_back(row);
  }
  if (taken != recs.size()) {
    return fail(Errc::invalid_argument, "{} operations belong to no entry", recs.size() - taken);
  }
  return {};
}

namespace {

Result<void> decode_list(const Recs* recs, Arena& arena, std::vector<Mutation>& out) {
  out.clear();
  if (recs == nullptr || recs->size() == 0) return {};  // an empty vector need not be aligned
  TRY_VOID(check_aligned(recs, "operations"));
  for (uint32_t i = 0; i < recs->size(); ++i) {
    TRY_VOID(decode_record(*recs->Get(i), i, arena, out.emplace_back()));
  }
  return {};
}

Result<void> decode_modify_rule(const fb::ModifyRec& rec, size_t index, Arena& arena,
                                ModifyRule& out) {
  if (rec.kind() != static_cast<uint8_t>(fb::ModifyKind::Append) &&
      rec.kind() != static_cast<uint8_t>(fb::ModifyKind::Increment)) {
    return fail(Errc::invalid_argument, "rule {}: kind {} does not exist", index, rec.kind());
  }
  if (rec.reserved8() != 0 || rec.reserved16() != 0 || rec.reserved32() != 0) {
    return fail(Errc::invalid_argument, "rule {}: a reserved field is not 0", index);
  }
  out.kind = static_cast<ModifyRule::Kind>(rec.kind());
  out.by = rec.by();
  if (!view(rec.family(), arena.bytes, out.family) || !arena.take(rec.qualifier(), out.qualifier) ||
      !arena.take(rec.value(), out.value)) {
    return fail(Errc::invalid_argument, "rule {}: a part of it lies outside the arena", index);
  }
  return {};
}

}  // namespace

Result<void> decode(const fb::MutateRowRequest& request, DecodedConditional& out) {
  TRY_VOID(check_durability(request.durability()));
  TRY_VOID(decode_token(request.token(), out));
  out.target = {text(request.table()), level_of(request.durability())};
  out.else_mutations.clear();
  out.rules.clear();
  Arena arena(bytes_of(request.arena()));
  if (!arena.take(*request.row(), out.row)) {
    return fail(Errc::invalid_argument, "the row key lies outside the arena");
  }
  return decode_list(request.mutations(), arena, out.then_mutations);
}

Result<void> decode(const fb::CheckAndMutateRowRequest& request, DecodedConditional& out) {
  TRY_VOID(check_durability(request.durability()));
  TRY_VOID(decode_token(request.token(), out));
  out.target = {text(request.table()), level_of(request.durability())};
  out.rules.clear();
  Arena arena(bytes_of(request.arena()));
  if (!arena.take(*request.row(), out.row)) {
    return fail(Errc::invalid_argument, "the row key lies outside the arena");
  }
  TRY_VOID(decode_list(request.then_mutations(), arena, out.then_mutations));
  return decode_list(request.else_mutations(), arena, out.else_mutations);
}

Result<void> decode(const fb::ReadModifyWriteRowRequest& request, DecodedConditional& out) {
  TRY_VOID(check_durability(request.durability()));
  TRY_VOID(decode_token(request.token(), out));
  TRY_VOID(check_aligned(request.rules(), "rules"));
  out.target = {text(request.table()), level_of(request.durability())};
  out.then_mutations.clear();
  out.else_mutations.clear();
  out.rules.clear();
  Arena arena(bytes_of(request.arena()));
  if (!arena.take(*request.row(), out.row)) {
    return fail(Errc::invalid_argument, "the row key lies outside the arena");
  }
  if (request.rules()->size() == 0) return fail(Errc::invalid_argument, "there are no rules");
  for (uint32_t i = 0; i < request.rules()->size(); ++i) {
    TRY_VOID(decode_modify_rule(*request.rules()->Get(i), i, arena, out.rules.emplace_back()));
  }
  return {};
}

Result<void> decode(const fb::DropRowRangeRequest& request, DecodedDrop& out) {
  out = DecodedDrop();
  TRY_VOID(decode_token(request.token(), out));
  out.table = text(request.table());
  if (request.prefix() != nullptr) {
    if (request.start() != nullptr || request.end() != nullptr) {
      return fail(Errc::invalid_argument, "a drop takes a prefix or bounds, not both");
    }
    const Bytes prefix = bytes_of(request.prefix());
    if (prefix.empty()) {
      return fail(Errc::invalid_argument, "an empty prefix would drop every row");
    }
    if (prefix.size() > kMaxRowKeyBytes) {
      return fail(Errc::invalid_argument, "a prefix of {} bytes is over the limit of {}",
                  prefix.size(), kMaxRowKeyBytes);
    }
    out.start = prefix;
    out.end = prefix_successor(prefix);
    return {};
  }
  if (request.start() == nullptr && request.end() == nullptr) {
    return fail(Errc::invalid_argument, "a drop needs a prefix or bounds");
  }
  out.start = bytes_of(request.start());
  out.end = bytes_of(request.end());
  if (std::max(out.start.size(), out.end.size()) > kMaxRowKeyBytes) {
    return fail(Errc::invalid_argument, "a bound of {} bytes is over the limit of {}",
                std::max(out.start.size(), out.end.size()), kMaxRowKeyBytes);
  }
  if (request.end() != nullptr && out.end < out.start) {
    return fail(Errc::invalid_argument, "the range ends at '{}', before it starts at '{}'",
                escape_bytes(out.end), escape_bytes(out.start));
  }
  out.nothing = request.end() != nullptr && out.end == out.start;
  return {};
}

}  // namespace cellar::wire
