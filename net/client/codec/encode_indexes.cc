// Requests of indexes.
#include "net/client/codec/encode_request.h"

namespace cellar::client {

namespace {

fb::TimeRangeRec time_of(const std::optional<int64_t>& start_us,
                         const std::optional<int64_t>& end_us) {
  using Flag = fb::RangeFlag;
  unsigned flags = 0;
  if (start_us) flags |= static_cast<unsigned>(Flag::HasStart);
  if (end_us) flags |= static_cast<unsigned>(Flag::HasEnd);
  return {start_us.value_or(0), end_us.value_or(0), static_cast<uint8_t>(flags),
          uint8_t{0},           uint16_t{0},        uint32_t{0}};
}

// Parts of a request in the arena.
struct IndexConditions {
  IndexConditions(const ReadIndex& read, ArenaBuilder& bytes)
      : time(time_of(read.start_us, read.end_us)) {
    if (read.value) value = bytes.add(*read.value);
    if (read.values) values = range_of(*read.values, bytes);
    if (read.qualifier) qualifier = bytes.add(*read.qualifier);
    if (read.qualifiers) qualifiers = range_of(*read.qualifiers, bytes);
    for (const std::string& key : read.keys) keys.push_back(bytes.add(key));
    for (const RowRange& range : read.ranges) ranges.push_back(range_of(range, bytes));
    if (read.filter) append_nodes(*read.filter, bytes, nodes);
  }
  std::optional<fb::Span> value, qualifier;
  std::optional<fb::RangeRec> values, qualifiers;
  fb::TimeRangeRec time;
  std::vector<fb::Span> keys;
  std::vector<fb::RangeRec> ranges;
  std::vector<fb::FilterNode> nodes;
};

}  // namespace

Request Encoder::read_index(std::string_view table, const ReadIndex& read) {
  auto& b = fresh();
  ArenaBuilder bytes;
  const IndexConditions on(read, bytes);
  const auto index = string_of(b, read.index);
  const auto keys = b.CreateVectorOfStructs(on.keys);
  const auto ranges = b.CreateVectorOfStructs(on.ranges);
  const auto filter = b.CreateVectorOfStructs(on.nodes);
  const auto arena = bytes.finish(b);
  const auto after = read.after.empty() ? 0 : byte_vector(b, read.after);
  fb::ReadIndexRequestBuilder out(b);
  out.add_index(index);
  if (on.value) out.add_value(&*on.value);
  if (on.values) out.add_values(&*on.values);
  if (on.qualifier) out.add_qualifier(&*on.qualifier);
  if (on.qualifiers) out.add_qualifiers(&*on.qualifiers);
  if (read.start_us || read.end_us) out.add_time(&on.time);
  if (!on.keys.empty()) out.add_keys(keys);
  if (!on.ranges.empty()) out.add_ranges(ranges);
  out.add_arena(arena);
  out.add_whole_rows(read.whole_rows);
  if (read.filter) out.add_filter(filter);
  if (read.limit) out.add_limit(*read.limit);
  out.add_reversed(read.reversed);
  out.add_credits(read.credits);
  if (!read.after.empty()) out.add_after(after);
  out.add_explain(read.explain);
  return by_handle(table, finish(op_number(fb::Op::ReadIndex), out.Finish()));
}

Request Encoder::create_index(std::string_view table, const IndexSpec& index) {
  auto& b = fresh();
  const auto name = string_of(b, table);
  return of_table<fb::CreateIndexRequest>(changing(finish(
      op_number(fb::Op::CreateIndex), fb::CreateCreateIndexRequest(b, name, index_of(b, index)))));
}

Request Encoder::alter_index(const AlterIndex& change) {
  auto& b = fresh();
  const auto table = string_of(b, change.table);
  const auto name = string_of(b, change.name);
  fb::AlterIndexRequestBuilder out(b);
  out.add_table(table);
  out.add_name(name);
  out.add_max_age_given(change.max_age_given);
  if (change.max_age_given && change.max_age_us) out.add_max_age_us(*change.max_age_us);
  if (change.tighter_base) {
    out.add_tighter_base(static_cast<fb::TighterBase>(*change.tighter_base));
  }
  return changing(
      of_table<fb::AlterIndexRequest>(finish(op_number(fb::Op::AlterIndex), out.Finish())));
}

Request Encoder::drop_index(std::string_view table, std::string_view name) {
  auto& b = fresh();
  const auto table_name = string_of(b, table);
  const auto index_name = string_of(b, name);
  return changing(of_table<fb::DropIndexRequest>(
      finish(op_number(fb::Op::DropIndex), fb::CreateDropIndexRequest(b, table_name, index_name))));
}

Request Encoder::describe_indexes(std::string_view table) {
  auto& b = fresh();
  return of_table<fb::DescribeIndexesRequest>(
      finish(op_number(fb::Op::DescribeIndexes),
             fb::CreateDescribeIndexesRequest(b, string_of(b, table))));
}

Request Encoder::check_index(const CheckIndex& check, bool progress) {
  auto& b = fresh();
  const auto table = string_of(b, check.table);
  const auto name = string_of(b, check.name);
  return of_table<fb::CheckIndexRequest>(
      finish(op_number(fb::Op::CheckIndex), fb::CreateCheckIndexRequest(b, table, name, progress)));
}

}  // namespace cellar::client
