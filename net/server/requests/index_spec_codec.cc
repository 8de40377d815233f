#include "net/server/requests/index_spec_codec.h"

#include "engine/catalog/table_change.h"
#include "engine/model/key.h"

namespace cellar::server {
namespace fb = wire::fb;
namespace {

static_assert(static_cast<int>(IndexPart::value) == static_cast<int>(fb::IndexPart::Value));
static_assert(static_cast<int>(IndexPart::time) == static_cast<int>(fb::IndexPart::Time));
static_assert(static_cast<int>(IndexPart::qualifier) == static_cast<int>(fb::IndexPart::Qualifier));
static_assert(static_cast<int>(IndexType::int64) == static_cast<int>(fb::IndexType::Int64));
static_assert(static_cast<int>(IndexMatch::any) == static_cast<int>(fb::IndexMatch::Any));
static_assert(static_cast<int>(TighterBase::refuse) == static_cast<int>(fb::TighterBase::Refuse));

Result<void> check_enum(bool known, Bytes index, std::string_view what) {
  if (known) return {};
  return fail(Errc::invalid_argument, "index '{}': {} has a value that does not exist",
              escape_bytes(index), what);
}

Result<std::optional<TighterBase>> decode_base(flatbuffers::Optional<fb::TighterBase> base,
                                               Bytes index) {
  if (!base) return std::nullopt;
  TRY_VOID(check_enum(*base <= fb::TighterBase::MAX, index, "tighter_base"));
  return static_cast<TighterBase>(*base);
}

constexpr size_t kMaxParts = 3;

// Sizes are checked before anything is copied: many records may name the same bytes.
Result<void> check_column(Bytes index, Bytes family, Bytes qualifier) {
  if (family.size() > kMaxFamilyNameBytes) {
    return fail(Errc::invalid_argument,
                "index '{}': a family name of {} bytes; at most {} are allowed", index,
                family.size(), kMaxFamilyNameBytes);
  }
  if (qualifier.size() > kMaxQualifierBytes) {
    return fail(Errc::invalid_argument,
                "index '{}': a qualifier of {} bytes; at most {} are allowed", index,
                qualifier.size(), kMaxQualifierBytes);
  }
  return {};
}

Result<void> check_sizes(const fb::IndexSpec& spec) {
  const Bytes name = wire::text(spec.name());
  TRY_VOID(validate_index_name(name));
  const Bytes qualifier = spec.qualifier() != nullptr ? wire::bytes_of(spec.qualifier()) : Bytes();
  TRY_VOID(check_column(name, wire::text(spec.family()), qualifier));
  if (spec.parts()->size() > kMaxParts) {
    return fail(Errc::invalid_argument, "index '{}' has {} key parts; at most {} exist", name,
                spec.parts()->size(), kMaxParts);
  }
  if (spec.covered() != nullptr && spec.covered()->size() > kMaxCoveredColumns) {
    return fail(Errc::invalid_argument, "index '{}' covers {} columns; at most {} are allowed",
                name, spec.covered()->size(), kMaxCoveredColumns);
  }
  return {};
}

Result<void> decode_covered(const fb::IndexSpec& spec, engine::IndexSpec& out) {
  if (spec.covered() == nullptr) return {};
  const Bytes arena = wire::bytes_of(spec.arena());
  for (const fb::IndexColumnRec* column : *spec.covered()) {
    Bytes family;
    Bytes qualifier;
    if (!wire::view(column->family(), arena, family) ||
        !wire::view(column->qualifier(), arena, qualifier)) {
      return fail(Errc::invalid_argument, "index '{}': covered column {} lies outside the arena",
                  escape_bytes(out.name), out.covered.size());
    }
    TRY_VOID(check_column(out.name, family, qualifier));
    out.covered.push_back({std::string(family), std::string(qualifier)});
  }
  return {};
}

Result<engine::IndexSpec> decode_index(const fb::IndexSpec& spec) {
  TRY_VOID(check_sizes(spec));
  engine::IndexSpec out;
  out.name = wire::text(spec.name());
  out.family = wire::text(spec.family());
  if (spec.qualifier() != nullptr) out.qualifier = wire::bytes_of(spec.qualifier());
  for (const auto part : *spec.parts()) {
    const auto known = static_cast<fb::IndexPart>(part);
    const bool exists = known >= fb::IndexPart::MIN && known <= fb::IndexPart::MAX;
    TRY_VOID(check_enum(exists, out.name, "a key part"));
    out.parts.push_back(static_cast<IndexPart>(known));
  }
  if (const auto type = spec.type()) {
    TRY_VOID(check_enum(*type <= fb::IndexType::MAX, out.name, "type"));
    out.type = static_cast<IndexType>(*type);
  }
  TRY_VOID(check_enum(spec.match() <= fb::IndexMatch::MAX, out.name, "match"));
  out.match = static_cast<IndexMatch>(spec.match());
  TRY_VOID(decode_covered(spec, out));
  out.max_age_us = spec.max_age_us();
  TRY(out.tighter_base, decode_base(spec.tighter_base(), out.name));
  return out;
}

Result<void> check(const engine::TableChange& change, const engine::TableMap& tables) {
  TRY_VOID(engine::validate_change(change));
  return engine::check_exists(change, tables);
}

}  // namespace

Result<void> decode_create_index(const fb::CreateIndexRequest& request,
                                 const engine::TableMap& tables, engine::TableChange& out) {
  out.name = wire::text(request.table());
  TRY(engine::IndexSpec index, decode_index(*request.index()));
  out.add_indexes.push_back(std::move(index));
  return check(out, tables);
}

Result<void> decode_alter_index(const fb::AlterIndexRequest& request,
                                const engine::TableMap& tables, engine::TableChange& out) {
  out.name = wire::text(request.table());
  engine::IndexChange& change = out.alter_indexes.emplace_back();
  change.name = wire::text(request.name());
  if (request.max_age_us() && !request.max_age_given()) {
    return fail(Errc::invalid_argument, "index '{}': max_age_us without max_age_given",
                escape_bytes(change.name));
  }
  if (request.max_age_given()) change.max_age_us.emplace(request.max_age_us());
  TRY(change.tighter_base, decode_base(request.tighter_base(), change.name));
  return check(out, tables);
}

Result<void> decode_drop_index(const fb::DropIndexRequest& request, const engine::TableMap& tables,
                               engine::TableChange& out) {
  out.name = wire::text(request.table());
  out.drop_indexes.emplace_back(wire::text(request.name()));
  return check(out, tables);
}

flatbuffers::Offset<fb::IndexSpec> describe_index(flatbuffers::FlatBufferBuilder& builder,
                                                  const IndexSchema& index) {
  wire::ArenaBuilder arena;
  std::vector<fb::IndexColumnRec> columns;
  for (const IndexColumn& column : index.covered) {
    const fb::Span family = arena.add(column.family);
    columns.emplace_back(family, arena.add(column.qualifier));
  }
  std::vector<fb::IndexPart> keys;
  for (const IndexPart part : index.parts) keys.push_back(static_cast<fb::IndexPart>(part));
  const auto name = builder.CreateString(index.name);
  const auto family = builder.CreateString(index.family);
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> qualifier;
  if (index.qualifier) qualifier = wire::byte_vector(builder, *index.qualifier);
  const auto parts = builder.CreateVector(keys);
  const auto covered = builder.CreateVectorOfStructs(columns);
  const auto bytes = arena.finish(builder);
  fb::IndexSpecBuilder spec(builder);
  spec.add_name(name);
  spec.add_family(family);
  if (index.qualifier) spec.add_qualifier(qualifier);
  spec.add_parts(parts);
  if (index.has(IndexPart::value)) spec.add_type(static_cast<fb::IndexType>(index.type));
  spec.add_match(static_cast<fb::IndexMatch>(index.match));
  spec.add_covered(covered);
  spec.add_arena(bytes);
  if (index.max_age_us) spec.add_max_age_us(*index.max_age_us);
  spec.add_tighter_base(static_cast<fb::TighterBase>(index.tighter_base));
  return spec.Finish();
}

Bytes build_index_states(flatbuffers::FlatBufferBuilder& builder,
                         const engine::IndexStates& states) {
  builder.Clear();
  std::vector<flatbuffers::Offset<fb::IndexDescription>> indexes;
  for (size_t i = 0; i < states.indexes.size(); ++i) {
    const auto spec = describe_index(builder, states.indexes[i]);
    const engine::IndexState& state = states.states[i];
    indexes.push_back(fb::CreateIndexDescription(builder, spec, state.ready, state.done_bytes,
                                                 state.total_bytes, state.entries, state.bytes,
                                                 state.skipped));
  }
  const auto list = builder.CreateVector(indexes);
  return wire::finish_body(builder, fb::CreateDescribeIndexesReply(builder, list));
}

Bytes build_index_check(flatbuffers::FlatBufferBuilder& builder,
                        const engine::IndexCheckReport& report, bool shows_rows) {
  builder.Clear();
  wire::ArenaBuilder arena;
  std::vector<fb::Span> samples;
  if (shows_rows) {
    for (const std::string& row : report.samples) samples.push_back(arena.add(row));
  }
  const auto rows = builder.CreateVectorOfStructs(samples);
  const auto bytes = arena.finish(builder);
  return wire::finish_body(
      builder,
      fb::CreateCheckIndexReply(builder, report.cells, report.entries, report.hits, report.missing,
                                report.wrong, rows, bytes, report.rows, report.rows_about));
}

}  // namespace cellar::server
