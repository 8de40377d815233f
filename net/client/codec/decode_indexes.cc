// Answers about indexes.
#include "net/client/codec/decode.h"
#include "net/client/codec/decode_parts.h"

namespace cellar::client {

namespace {

Result<IndexSpec> decoded_index(const fb::IndexSpec& from) {
  IndexSpec to;
  to.name = text_of(from.name());
  to.family = text_of(from.family());
  if (from.qualifier() != nullptr) to.qualifier = std::string(wire::bytes_of(from.qualifier()));
  for (uint32_t i = 0; i < from.parts()->size(); ++i) {
    to.parts.push_back(static_cast<IndexPart>(from.parts()->Get(i)));
  }
  to.type = enum_of<IndexType>(from.type());
  to.match = static_cast<IndexMatch>(from.match());
  if (!wire::well_aligned(from.covered())) return std::unexpected(bad_arena());
  const Bytes arena = wire::bytes_of(from.arena());
  for (uint32_t i = 0; from.covered() && i < from.covered()->size(); ++i) {
    IndexColumn& column = to.covered.emplace_back();
    TRY(column.family, key_in(arena, from.covered()->Get(i)->family()));
    TRY(column.qualifier, key_in(arena, from.covered()->Get(i)->qualifier()));
  }
  to.max_age_us = from.max_age_us();
  to.tighter_base = enum_of<TighterBase>(from.tighter_base());
  return to;
}

Result<IndexCheck> check_of(const fb::CheckIndexReply& from) {
  IndexCheck to;
  to.rows_seen = from.rows_seen();
  to.rows_about = from.rows_about();
  to.cells = from.cells();
  to.entries = from.entries();
  to.hits = from.hits();
  to.missing = from.missing();
  to.wrong = from.wrong();
  const Bytes arena = wire::bytes_of(from.arena());
  for (uint32_t i = 0; from.samples() && i < from.samples()->size(); ++i) {
    TRY(std::string key, key_in(arena, *from.samples()->Get(i)));
    to.samples.push_back(std::move(key));
  }
  return to;
}

}  // namespace

Result<std::vector<IndexSpec>> indexes_of(const fb::TableDescription& table) {
  std::vector<IndexSpec> indexes;
  for (uint32_t i = 0; table.indexes() && i < table.indexes()->size(); ++i) {
    TRY(IndexSpec index, decoded_index(*table.indexes()->Get(i)));
    indexes.push_back(std::move(index));
  }
  return indexes;
}

Result<std::vector<IndexDescription>> decode_indexes(const Answer& answer) {
  TRY(const fb::DescribeIndexesReply* reply, root_of<fb::DescribeIndexesReply>(answer.last));
  std::vector<IndexDescription> indexes;
  for (uint32_t i = 0; reply->indexes() && i < reply->indexes()->size(); ++i) {
    const fb::IndexDescription& from = *reply->indexes()->Get(i);
    IndexDescription& to = indexes.emplace_back();
    TRY(to.index, decoded_index(*from.index()));
    to.ready = from.ready();
    to.done_bytes = from.done_bytes();
    to.total_bytes = from.total_bytes();
    to.entries = from.entries();
    to.bytes = from.bytes();
    to.skipped = from.skipped();
  }
  return indexes;
}

Result<IndexCheck> decode_index_check(const Answer& answer) {
  TRY(const fb::CheckIndexReply* reply, root_of<fb::CheckIndexReply>(answer.last));
  return check_of(*reply);
}

std::optional<IndexCheck> decode_check_progress(Bytes body) {
  const auto* from = wire::verified<fb::CheckIndexReply>(body);
  if (from == nullptr) return std::nullopt;
  auto progress = check_of(*from);
  return progress ? std::optional(*std::move(progress)) : std::nullopt;
}

}  // namespace cellar::client
