// Bodies of requests for tests, made with the generated builders only, so that a test can make
// bodies that no correct client makes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/wire/body.h"
#include "net/wire/frame.h"

namespace cellar::wire {

// Bytes for an arena, and the spans that refer to them.
struct ArenaText {
  std::string bytes;
  fb::Span put(std::string_view s) {
    const fb::Span span(static_cast<uint32_t>(bytes.size()), static_cast<uint32_t>(s.size()));
    bytes += s;
    return span;
  }
};

inline flatbuffers::Offset<flatbuffers::Vector<uint8_t>> bytes_vector(
    flatbuffers::FlatBufferBuilder& builder, std::string_view s) {
  return builder.CreateVector(reinterpret_cast<const uint8_t*>(s.data()), s.size());
}

inline fb::MutationRec set_rec(ArenaText& arena, std::string_view family,
                               std::string_view qualifier, std::string_view value,
                               int64_t timestamp_us) {
  const fb::Span f = arena.put(family);
  const fb::Span q = arena.put(qualifier);
  const fb::Span v = arena.put(value);
  return fb::MutationRec(timestamp_us, 0, f, q, v, static_cast<uint8_t>(fb::MutationKind::SetCell),
                         static_cast<uint8_t>(fb::MutationFlag::HasTimestamp), 0, 0);
}

inline std::string mutate_row_body(std::string_view table, std::string_view row, ArenaText arena,
                                   const std::vector<fb::MutationRec>& recs,
                                   fb::Durability durability = fb::Durability::TableDefault) {
  flatbuffers::FlatBufferBuilder builder;
  const fb::Span key = arena.put(row);
  const auto name = builder.CreateString(table.data(), table.size());
  const auto list = builder.CreateVectorOfStructs(recs);
  const auto bytes = bytes_vector(builder, arena.bytes);
  const auto root = fb::CreateMutateRowRequest(builder, name, &key, list, bytes, durability);
  return std::string(finish_body(builder, root));
}

// One cell.
inline std::string set_body(std::string_view table, std::string_view row, std::string_view family,
                            std::string_view qualifier, std::string_view value,
                            int64_t timestamp_us) {
  ArenaText arena;
  const fb::MutationRec rec = set_rec(arena, family, qualifier, value, timestamp_us);
  return mutate_row_body(table, row, std::move(arena), {rec});
}

inline std::string read_row_body(std::string_view table, std::string_view row,
                                 const std::vector<fb::FilterNode>& filter = {}) {
  flatbuffers::FlatBufferBuilder builder;
  ArenaText arena;
  const fb::Span key = arena.put(row);
  const auto name = builder.CreateString(table.data(), table.size());
  const auto nodes = builder.CreateVectorOfStructs(filter);
  const auto bytes = bytes_vector(builder, arena.bytes);
  return std::string(
      finish_body(builder, fb::CreateReadRowRequest(builder, name, &key, nodes, bytes)));
}

struct ReadRowsShape {
  std::vector<std::pair<std::string, std::string>> ranges = {};  // [start, end), "" is unbounded
  std::vector<fb::FilterNode> filter = {};
  uint64_t limit = 0;
  bool reversed = false;
  uint32_t credits = 0;
};
inline std::string read_rows_body(std::string_view table, const ReadRowsShape& shape = {}) {
  flatbuffers::FlatBufferBuilder builder;
  ArenaText arena;
  std::vector<fb::RangeRec> ranges;
  for (const auto& [start, end] : shape.ranges) {
    uint8_t flags = 0;
    if (!start.empty()) flags |= static_cast<uint8_t>(fb::RangeFlag::HasStart);
    if (!end.empty()) flags |= static_cast<uint8_t>(fb::RangeFlag::HasEnd);
    const fb::Span from = arena.put(start);
    ranges.emplace_back(from, arena.put(end), flags, 0, 0);
  }
  const auto name = builder.CreateString(table.data(), table.size());
  flatbuffers::Offset<flatbuffers::Vector<const fb::RangeRec*>> list;
  if (!ranges.empty()) list = builder.CreateVectorOfStructs(ranges);
  const auto nodes = builder.CreateVectorOfStructs(shape.filter);
  const auto bytes = bytes_vector(builder, arena.bytes);
  return std::string(finish_body(
      builder, fb::CreateReadRowsRequest(builder, name, 0, list, nodes, bytes, shape.limit,
                                         shape.reversed, false, false, shape.credits)));
}

struct PartRangeShape {
  std::string start = {};
  std::string end = {};
  uint8_t flags = 0;
  uint8_t reserved = 0;
};
struct ReadIndexShape {
  std::optional<std::string> value = {};
  std::optional<PartRangeShape> values = {};
  std::optional<std::string> qualifier = {};
  std::optional<PartRangeShape> qualifiers = {};
  std::optional<fb::TimeRangeRec> time = {};
  std::vector<std::string> keys = {};
  bool whole_rows = false;
  std::vector<fb::FilterNode> filter = {};
  std::optional<int64_t> limit = {};
  bool reversed = false;
  uint32_t credits = 0;
  std::string after = {};
  bool explain = false;
};
inline std::string read_index_body(std::string_view table, std::string_view index,
                                   const ReadIndexShape& shape = {}) {
  flatbuffers::FlatBufferBuilder builder;
  ArenaText arena;
  const auto range_of = [&arena](const PartRangeShape& of) {
    const fb::Span start = arena.put(of.start);
    return fb::RangeRec(start, arena.put(of.end), of.flags, of.reserved, 0);
  };
  const fb::Span value = arena.put(shape.value.value_or(""));
  const fb::Span qualifier = arena.put(shape.qualifier.value_or(""));
  const fb::RangeRec values = range_of(shape.values.value_or(PartRangeShape()));
  const fb::RangeRec qualifiers = range_of(shape.qualifiers.value_or(PartRangeShape()));
  std::vector<fb::Span> spans;
  for (const std::string& key : shape.keys) spans.push_back(arena.put(key));
  const auto table_name = builder.CreateString(table.data(), table.size());
  const auto index_name = builder.CreateString(index.data(), index.size());
  flatbuffers::Offset<flatbuffers::Vector<const fb::Span*>> keys;
  if (!spans.empty()) keys = builder.CreateVectorOfStructs(spans);
  const auto nodes = builder.CreateVectorOfStructs(shape.filter);
  const auto after = bytes_vector(builder, shape.after);
  const auto bytes = bytes_vector(builder, arena.bytes);
  fb::ReadIndexRequestBuilder request(builder);
  request.add_table(table_name);
  request.add_index(index_name);
  if (shape.value) request.add_value(&value);
  if (shape.values) request.add_values(&values);
  if (shape.qualifier) request.add_qualifier(&qualifier);
  if (shape.qualifiers) request.add_qualifiers(&qualifiers);
  if (shape.time) request.add_time(&*shape.time);
  if (!spans.empty()) request.add_keys(keys);
  request.add_arena(bytes);
  request.add_whole_rows(shape.whole_rows);
  request.add_filter(nodes);
  if (shape.limit) request.add_limit(*shape.limit);
  request.add_reversed(shape.reversed);
  request.add_credits(shape.credits);
  if (!shape.after.empty()) request.add_after(after);
  request.add_explain(shape.explain);
  return std::string(finish_body(builder, request.Finish()));
}

struct CreateIndexShape {
  std::string family = "f";
  std::optional<std::string> qualifier = "q";
  std::vector<fb::IndexPart> parts = {fb::IndexPart::Value};
  std::vector<std::pair<std::string, std::string>> covered = {};
  std::optional<fb::IndexType> type = {};
  fb::IndexMatch match = fb::IndexMatch::Newest;
  std::optional<int64_t> max_age_us = {};
};
inline std::string create_index_body(std::string_view table, std::string_view index,
                                     const CreateIndexShape& shape = {}) {
  flatbuffers::FlatBufferBuilder builder;
  ArenaText arena;
  std::vector<fb::IndexColumnRec> columns;
  for (const auto& [family, qualifier] : shape.covered) {
    const fb::Span name = arena.put(family);
    columns.emplace_back(name, arena.put(qualifier));
  }
  const auto table_name = builder.CreateString(table.data(), table.size());
  const auto index_name = builder.CreateString(index.data(), index.size());
  const auto family = builder.CreateString(shape.family);
  const auto qualifier = bytes_vector(builder, shape.qualifier.value_or(""));
  const auto parts = builder.CreateVector(shape.parts);
  const auto covered = builder.CreateVectorOfStructs(columns);
  const auto bytes = bytes_vector(builder, arena.bytes);
  fb::IndexSpecBuilder spec(builder);
  spec.add_name(index_name);
  spec.add_family(family);
  if (shape.qualifier) spec.add_qualifier(qualifier);
  spec.add_parts(parts);
  if (shape.type) spec.add_type(*shape.type);
  spec.add_match(shape.match);
  spec.add_covered(covered);
  spec.add_arena(bytes);
  if (shape.max_age_us) spec.add_max_age_us(*shape.max_age_us);
  const auto finished = spec.Finish();
  return std::string(
      finish_body(builder, fb::CreateCreateIndexRequest(builder, table_name, finished)));
}

inline std::string create_table_body(std::string_view table,
                                     const std::vector<std::string>& families,
                                     const std::vector<std::string>& splits = {}) {
  flatbuffers::FlatBufferBuilder builder;
  ArenaText arena;
  const auto name = builder.CreateString(table.data(), table.size());
  std::vector<flatbuffers::Offset<fb::FamilySpec>> specs;
  for (const std::string& family : families) {
    specs.push_back(fb::CreateFamilySpec(builder, builder.CreateString(family)));
  }
  std::vector<fb::Span> spans;
  for (const std::string& split : splits) spans.push_back(arena.put(split));
  const auto family_list = builder.CreateVector(specs);
  const auto split_list = builder.CreateVectorOfStructs(spans);
  const auto bytes = bytes_vector(builder, arena.bytes);
  return std::string(finish_body(
      builder, fb::CreateCreateTableRequest(builder, name, flatbuffers::nullopt, fb::Profile::None,
                                            family_list, 0, split_list, bytes)));
}

// Bodies of requests that only name a table.
template <class Root>
std::string table_body(std::string_view table, flatbuffers::Offset<Root> (*create)(
                                                   flatbuffers::FlatBufferBuilder&,
                                                   flatbuffers::Offset<flatbuffers::String>)) {
  flatbuffers::FlatBufferBuilder builder;
  return std::string(
      finish_body(builder, create(builder, builder.CreateString(table.data(), table.size()))));
}
inline std::string flush_body(std::string_view table) {
  return table_body(table, fb::CreateFlushTableRequest);
}
inline std::string compact_body(std::string_view table) {
  return table_body(table, fb::CreateCompactTableRequest);
}

inline std::string hello_as(std::string_view client_id) {
  flatbuffers::FlatBufferBuilder builder;
  const auto id = bytes_vector(builder, client_id);
  fb::HelloRequestBuilder hello(builder);
  hello.add_client_id(id);
  return std::string(finish_body(builder, hello.Finish()));
}

// `shard`: that shall serve the connection.
inline std::string hello_to(uint32_t shard, bool stale_handles = false) {
  flatbuffers::FlatBufferBuilder builder;
  fb::HelloRequestBuilder hello(builder);
  hello.add_shard(shard);
  hello.add_stale_handles(stale_handles);
  return std::string(finish_body(builder, hello.Finish()));
}

inline flatbuffers::Offset<fb::Token> token_of(flatbuffers::FlatBufferBuilder& builder,
                                               std::string_view token, int64_t issued_us) {
  if (token.empty()) return 0;
  return fb::CreateToken(builder, bytes_vector(builder, token), issued_us);
}
inline std::string drop_rows_body(std::string_view table, std::string_view prefix,
                                  std::string_view token = {}, int64_t issued_us = 0) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(table.data(), table.size());
  const auto bytes = bytes_vector(builder, prefix);
  const auto once = token_of(builder, token, issued_us);
  return std::string(
      finish_body(builder, fb::CreateDropRowRangeRequest(builder, name, bytes, 0, 0, once)));
}
inline std::string drop_range_body(std::string_view table, std::string_view start,
                                   std::string_view end, std::string_view token,
                                   int64_t issued_us) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(table.data(), table.size());
  const auto from = bytes_vector(builder, start);
  const auto to = bytes_vector(builder, end);
  const auto once = token_of(builder, token, issued_us);
  return std::string(
      finish_body(builder, fb::CreateDropRowRangeRequest(builder, name, 0, from, to, once)));
}

// A whole frame.
inline std::string request_frame(fb::Op op, uint64_t id, std::string_view body,
                                 FrameKind kind = FrameKind::request, uint32_t deadline_ms = 0,
                                 uint32_t handle = 0) {
  FrameHeader header;
  header.body_bytes = static_cast<uint32_t>(body.size());
  header.kind = kind;
  header.op = static_cast<uint16_t>(op);
  header.request_id = static_cast<uint32_t>(id);
  header.handle = handle;
  header.deadline_ms = deadline_ms;
  std::string frame;
  append_header(frame, header);
  frame += body;
  return frame;
}

inline fb::FilterNode filter_node(fb::FilterKind kind, int64_t start = 0, int64_t end = 0,
                                  uint8_t flags = 0, uint32_t children = 0, double sample = 0) {
  return fb::FilterNode(start, end, sample, fb::Span(0, 0), fb::Span(0, 0), fb::Span(0, 0),
                        children, static_cast<uint8_t>(kind), flags, 0);
}

// A frame that binds `handle`.
struct BindShape {
  std::string table = {};
  uint64_t table_id = 0;
  uint64_t tablet_id = 0;
  uint64_t epoch = 0;
  uint64_t instance = 0;
};
inline std::string bind_frame(uint32_t handle, const BindShape& to) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = to.table.empty() ? 0 : builder.CreateString(to.table);
  const Bytes body = finish_body(
      builder, fb::CreateBind(builder, name, to.table_id, to.tablet_id, to.epoch, to.instance));
  return request_frame(fb::Op::None, 0, body, FrameKind::bind, 0, handle);
}

inline std::string split_body(uint64_t tablet, std::string_view row) {
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = bytes_vector(builder, row);
  return std::string(finish_body(builder, fb::CreateSplitTabletRequest(builder, 0, tablet, bytes)));
}

inline std::string move_body(uint64_t tablet, uint32_t shard) {
  flatbuffers::FlatBufferBuilder builder;
  return std::string(finish_body(builder, fb::CreateMoveTabletRequest(builder, 0, tablet, shard)));
}

// For the chunks of a ReadRows.
inline std::string credit_frame(uint64_t id, uint32_t chunks) {
  flatbuffers::FlatBufferBuilder builder;
  const auto body = finish_body(builder, fb::CreateCredit(builder, chunks));
  return request_frame(fb::Op::ReadRows, id, body, FrameKind::credit);
}

}  // namespace cellar::wire
