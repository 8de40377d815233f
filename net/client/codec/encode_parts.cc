#include "net/client/codec/encode_parts.h"

namespace cellar::client {

namespace {

template <class Flag>
constexpr uint8_t bit(Flag flag, bool on = true) {
  return on ? static_cast<uint8_t>(flag) : uint8_t{0};
}

fb::Span moved(Mutation::Part part, uint32_t by) {
  return part.size == 0 ? fb::Span(0, 0) : fb::Span(part.at + by, part.size);
}

}  // namespace

flatbuffers::Offset<flatbuffers::String> string_of(flatbuffers::FlatBufferBuilder& builder,
                                                   std::string_view text) {
  return builder.CreateString(text.data(), text.size());
}

flatbuffers::Offset<fb::Token> token_of(flatbuffers::FlatBufferBuilder& builder,
                                        const std::optional<Token>& token) {
  if (!token) return 0;
  const auto bytes = byte_vector(builder, token->token);
  // A time of 0 must be encoded: the first attempt overwrites it.
  builder.ForceDefaults(true);
  const auto made = fb::CreateToken(builder, bytes, token->issued_us);
  builder.ForceDefaults(false);
  return made;
}

fb::Durability durability_of(const std::optional<Durability>& durability) {
  return durability ? static_cast<fb::Durability>(*durability) : fb::Durability::TableDefault;
}

fb::RangeRec range_of(const RowRange& range, ArenaBuilder& arena) {
  using Flag = fb::RangeFlag;
  const fb::Span start = range.start ? arena.add(*range.start) : fb::Span(0, 0);
  const fb::Span end = range.end ? arena.add(*range.end) : fb::Span(0, 0);
  const auto flags = static_cast<uint8_t>(bit(Flag::HasStart, range.start.has_value()) |
                                          bit(Flag::HasEnd, range.end.has_value()) |
                                          bit(Flag::StartOpen, range.start && range.start_open) |
                                          bit(Flag::EndClosed, range.end && range.end_closed));
  return {start, end, flags, uint8_t{0}, uint16_t{0}};
}

void append_records(const Mutation& mutation, uint32_t arena_at,
                    std::vector<fb::MutationRec>& records) {
  using Flag = fb::MutationFlag;
  for (const Mutation::Operation& op : mutation.operations()) {
    int64_t at = 0;
    int64_t until = 0;
    uint8_t flags = 0;
    if (op.kind == Mutation::Kind::set) {
      at = op.timestamp_us.value_or(0);
      until = op.expire_at_us ? *op.expire_at_us : op.ttl_us.value_or(0);
      flags = bit(Flag::HasTimestamp, op.timestamp_us.has_value()) |
              bit(Flag::HasExpireAt, op.expire_at_us.has_value()) |
              bit(Flag::HasTtl, op.ttl_us.has_value());
    } else if (op.kind == Mutation::Kind::delete_column) {
      at = op.start_us.value_or(0);
      until = op.end_us.value_or(0);
      flags =
          bit(Flag::HasStart, op.start_us.has_value()) | bit(Flag::HasEnd, op.end_us.has_value());
    }
    records.emplace_back(at, until, moved(op.family, arena_at), moved(op.qualifier, arena_at),
                         moved(op.value, arena_at), static_cast<uint8_t>(op.kind), flags,
                         uint16_t{0}, uint32_t{0});
  }
}

void append_nodes(const Filter& filter, ArenaBuilder& arena, std::vector<fb::FilterNode>& nodes) {
  using Flag = fb::RangeFlag;
  const Filter::Bounds& bounds = filter.bounds;
  const bool timed = filter.kind == Filter::Kind::time_range;
  fb::Span a = bounds.start ? arena.add(*bounds.start) : fb::Span(0, 0);
  if (!filter.text.empty()) a = arena.add(filter.text);
  const fb::Span b = bounds.end ? arena.add(*bounds.end) : fb::Span(0, 0);
  const fb::Span c = filter.family.empty() ? fb::Span(0, 0) : arena.add(filter.family);
  const bool has_start = timed ? filter.start_us.has_value() : bounds.start.has_value();
  const bool has_end = timed ? filter.end_us.has_value() : bounds.end.has_value();
  const auto flags = static_cast<uint8_t>(
      bit(Flag::HasStart, has_start) | bit(Flag::StartOpen, bounds.start_open) |
      bit(Flag::HasEnd, has_end) | bit(Flag::EndClosed, bounds.end_closed) |
      bit(Flag::HasThen, filter.has_then) | bit(Flag::HasElse, filter.has_else));
  nodes.emplace_back(timed ? filter.start_us.value_or(0) : filter.count, filter.end_us.value_or(0),
                     filter.sample, a, b, c, static_cast<uint32_t>(filter.children.size()),
                     static_cast<uint8_t>(filter.kind), flags, uint16_t{0});
  for (const Filter& child : filter.children) append_nodes(child, arena, nodes);
}

void append_nodes(const RetentionRule& rule, std::vector<fb::RuleNode>& nodes) {
  nodes.emplace_back(rule.value, static_cast<uint32_t>(rule.parts.size()),
                     static_cast<uint8_t>(rule.kind), uint8_t{0}, uint16_t{0});
  for (const RetentionRule& part : rule.parts) append_nodes(part, nodes);
}

flatbuffers::Offset<fb::FamilySpec> family_of(flatbuffers::FlatBufferBuilder& builder,
                                              const FamilySpec& family) {
  const auto name = string_of(builder, family.name);
  flatbuffers::Offset<flatbuffers::Vector<const fb::RuleNode*>> rule = 0;
  if (family.rule_given && family.rule) {
    std::vector<fb::RuleNode> nodes;
    append_nodes(*family.rule, nodes);
    rule = builder.CreateVectorOfStructs(nodes);
  }
  fb::FamilySpecBuilder out(builder);
  out.add_name(name);
  out.add_rule_given(family.rule_given);
  if (!rule.IsNull()) out.add_rule(rule);
  if (family.timestamps) {
    out.add_timestamps(static_cast<fb::TimestampMeaning>(*family.timestamps));
  }
  if (family.born_dead) out.add_born_dead(static_cast<fb::BornDead>(*family.born_dead));
  if (family.window) {
    out.add_window_given(true);
    if (family.window->past_us) out.add_window_past_us(*family.window->past_us);
    if (family.window->future_us) out.add_window_future_us(*family.window->future_us);
    if (family.window->whole_seconds) out.add_window_unit(fb::WindowUnit::Seconds);
  }
  if (family.undo_window_us) out.add_undo_window_us(*family.undo_window_us);
  return out.Finish();
}

flatbuffers::Offset<fb::IndexSpec> index_of(flatbuffers::FlatBufferBuilder& builder,
                                            const IndexSpec& index) {
  const auto name = string_of(builder, index.name);
  const auto family = string_of(builder, index.family);
  const auto qualifier = index.qualifier ? byte_vector(builder, *index.qualifier) : 0;
  std::vector<fb::IndexPart> parts;
  for (const IndexPart part : index.parts) parts.push_back(static_cast<fb::IndexPart>(part));
  const auto part_vector = builder.CreateVector(parts);
  ArenaBuilder bytes;
  std::vector<fb::IndexColumnRec> covered;
  for (const IndexColumn& column : index.covered) {
    const fb::Span of_family = bytes.add(column.family);
    covered.emplace_back(of_family, bytes.add(column.qualifier));
  }
  const auto columns = builder.CreateVectorOfStructs(covered);
  const auto arena = bytes.finish(builder);
  fb::IndexSpecBuilder out(builder);
  out.add_name(name);
  out.add_family(family);
  if (index.qualifier) out.add_qualifier(qualifier);
  out.add_parts(part_vector);
  if (index.type) out.add_type(static_cast<fb::IndexType>(*index.type));
  out.add_match(static_cast<fb::IndexMatch>(index.match));
  if (!covered.empty()) out.add_covered(columns);
  if (!covered.empty()) out.add_arena(arena);
  if (index.max_age_us) out.add_max_age_us(*index.max_age_us);
  if (index.tighter_base) out.add_tighter_base(static_cast<fb::TighterBase>(*index.tighter_base));
  return out.Finish();
}

flatbuffers::Offset<fb::TableOptions> options_of(flatbuffers::FlatBufferBuilder& builder,
                                                 const TableOptions& options) {
  fb::TableOptionsBuilder out(builder);
  if (options.durability) out.add_durability(static_cast<fb::Durability>(*options.durability));
  if (options.compression) out.add_compression(static_cast<fb::Compression>(*options.compression));
  if (options.block_bytes) out.add_block_bytes(*options.block_bytes);
  if (options.reclaim_within_us) out.add_reclaim_within_us(*options.reclaim_within_us);
  if (options.dead_slack) out.add_dead_slack(*options.dead_slack);
  if (options.reclaim_share) out.add_reclaim_share(*options.reclaim_share);
  if (options.compaction) out.add_compaction(static_cast<fb::Compaction>(*options.compaction));
  if (options.bottom_compression) {
    out.add_bottom_compression(static_cast<fb::BottomCompression>(*options.bottom_compression));
  }
  return out.Finish();
}

}  // namespace cellar::client
