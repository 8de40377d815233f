#include "engine/manifest/audit_entry.h"

#include <utility>

#include "engine/manifest/decode.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

constexpr uint8_t kHasOldRule = 1;
constexpr uint8_t kHasNewRule = 2;

Result<void> check_rule(const std::optional<RetentionRule>& rule) {
  if (!rule) return {};
  if (const auto valid = validate_rule(*rule); !valid)
    return fail(Errc::data_loss, "an audit entry has no valid rule: {}", valid.error().message);
  return {};
}

}  // namespace

std::string encode_audit_entry(const AuditEntry& entry) {
  std::string out;
  put_u8(out, AuditEntry::kVersion);
  put_varint(out, static_cast<uint64_t>(entry.at_us));
  put_u8(out, static_cast<uint8_t>(entry.action));
  put_bytes(out, entry.by.client);
  put_bytes(out, entry.by.address);
  put_varint(out, entry.table_id.value());
  put_varint(out, entry.schema_version);
  put_bytes(out, entry.table);
  put_bytes(out, entry.family);
  put_u8(out, static_cast<uint8_t>((entry.old_rule ? kHasOldRule : 0) |
                                   (entry.new_rule ? kHasNewRule : 0)));
  if (entry.old_rule) put_rule(out, *entry.old_rule);
  if (entry.new_rule) put_rule(out, *entry.new_rule);
  put_varint(out, entry.details.size());
  for (const AuditDetail& detail : entry.details) {
    put_bytes(out, detail.name);
    put_bytes(out, detail.before);
    put_bytes(out, detail.after);
  }
  return out;
}

Result<AuditEntry> decode_audit_entry(uint64_t sequence, Bytes encoded) {
  Reader in(encoded);
  TRY_VOID(check_version(in, AuditEntry::kVersion, "an audit entry"));
  AuditEntry entry;
  entry.sequence = sequence;
  entry.at_us = static_cast<int64_t>(in.varint());
  entry.action = static_cast<AuditAction>(in.u8());
  entry.by.client = in.bytes();
  entry.by.address = in.bytes();
  entry.table_id = TableId{in.varint()};
  entry.schema_version = in.varint();
  entry.table = in.bytes();
  entry.family = in.bytes();
  const uint8_t flags = in.u8();
  if ((flags & kHasOldRule) != 0) entry.old_rule = read_rule(in);
  if ((flags & kHasNewRule) != 0) entry.new_rule = read_rule(in);
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    AuditDetail& detail = entry.details.emplace_back();
    detail.name = in.bytes();
    detail.before = in.bytes();
    detail.after = in.bytes();
  }
  TRY_VOID(check_consumed(in, "an audit entry"));
  TRY_VOID(check_rule(entry.old_rule));
  TRY_VOID(check_rule(entry.new_rule));
  return entry;
}

std::string encode_audit_state(const AuditState& state) {
  std::string out;
  put_u8(out, AuditState::kVersion);
  put_varint(out, state.next_sequence);
  return out;
}

Result<AuditState> decode_audit_state(Bytes encoded) {
  Reader in(encoded);
  TRY_VOID(check_version(in, AuditState::kVersion, "the audit trail"));
  AuditState state;
  state.next_sequence = in.varint();
  TRY_VOID(check_consumed(in, "the audit trail"));
  return state;
}

}  // namespace cellar::engine
