// The audit trail, read in pages.
#include "net/server/requests/dispatch.h"
#include "net/server/shard/local_shard.h"
#include "net/wire/rule_codec.h"

namespace cellar::server {

using engine::AuditEntry;
using wire::Frame;
namespace fb = wire::fb;

namespace {

using Builder = flatbuffers::FlatBufferBuilder;

flatbuffers::Offset<fb::AuditEntry> put_entry(Builder& builder, const AuditEntry& entry) {
  const auto client_name = builder.CreateString(entry.by.client);
  const auto address = builder.CreateString(entry.by.address);
  const auto table = builder.CreateString(entry.table);
  const auto family = builder.CreateString(entry.family);
  const auto rule = [&builder](const std::optional<RetentionRule>& one) {
    return builder.CreateVectorOfStructs(wire::encode_rule(one.value_or(RetentionRule())));
  };
  const auto old_rule = rule(entry.old_rule);
  const auto new_rule = rule(entry.new_rule);
  std::vector<flatbuffers::Offset<fb::AuditDetail>> details;
  for (const engine::AuditDetail& detail : entry.details) {
    const auto name = builder.CreateString(detail.name);
    const auto before = builder.CreateString(detail.before);
    const auto after = builder.CreateString(detail.after);
    details.push_back(fb::CreateAuditDetail(builder, name, before, after));
  }
  const auto detail_list = builder.CreateVector(details);
  fb::AuditEntryBuilder out(builder);
  out.add_sequence(entry.sequence);
  out.add_at_us(entry.at_us);
  out.add_action(static_cast<uint8_t>(entry.action));
  out.add_client_name(client_name);
  out.add_address(address);
  out.add_table(table);
  out.add_table_id(entry.table_id.value());
  out.add_schema_version(entry.schema_version);
  if (!entry.family.empty()) out.add_family(family);
  out.add_old_rule_given(entry.old_rule.has_value());
  out.add_old_rule(old_rule);
  out.add_new_rule_given(entry.new_rule.has_value());
  out.add_new_rule(new_rule);
  out.add_details(detail_list);
  return out.Finish();
}

Async<Result<Bytes>> audit_page(LocalShard& shard, engine::AuditQuery query) {
  const engine::AuditPage page = co_await shard.node().audit_log(shard.id(), std::move(query));
  Builder& builder = shard.builder();
  builder.Clear();
  std::vector<flatbuffers::Offset<fb::AuditEntry>> entries;
  for (const AuditEntry& entry : page.entries) entries.push_back(put_entry(builder, entry));
  const auto list = builder.CreateVector(entries);
  co_return wire::finish_body(
      builder, fb::CreateAuditLogReply(builder, list, page.next_before, page.oldest));
}

}  // namespace

Handled handle_audit_log(LocalShard& shard, Session& session, const Frame& frame) {
  engine::AuditQuery query;
  if (!frame.body.empty()) {
    TRY(const auto* request, body_of<fb::AuditLogRequest>(frame));
    query.table = wire::text(request->table());
    query.since_us = request->since_us();
    query.before = request->before();
    query.limit = request->limit();
  }
  if (query.limit == 0 || query.limit > engine::kMaxAuditPage) {
    return fail(Errc::invalid_argument, "a limit of {} is not 1 to {}", query.limit,
                engine::kMaxAuditPage);
  }
  return answer_with(shard, session, frame.header, audit_page(shard, std::move(query)));
}

}  // namespace cellar::server
