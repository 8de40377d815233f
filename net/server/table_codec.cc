#include "net/server/table_codec.h"

#include "net/server/dispatch.h"

namespace cellar::server {
namespace fb = wire::fb;
namespace {

// Names the first part of the contract that the family uses and this node does not have; empty when
// there is none.
std::string_view beyond(const fb::FamilySpec& family) {
  if (family.rule() != nullptr && family.rule()->size() > 0) return "a retention rule";
  if (family.timestamps() && *family.timestamps() != fb::TimestampMeaning::Time) {
    return "timestamps = expiry or sequence";
  }
  if (family.born_dead() && *family.born_dead() != fb::BornDead::Refuse) {
    return "born_dead = accept";
  }
  if (family.window_past_us() || family.window_future_us()) return "a write window";
  if (family.undo_window_us()) return "an undo window";
  return {};
}

std::string_view beyond(const fb::TableOptions* options) {
  if (options == nullptr) return {};
  if (options->reclaim_within_us()) return "reclaim_within";
  if (options->dead_slack()) return "dead_slack";
  if (options->reclaim_share()) return "reclaim_share";
  return {};
}

using Families = flatbuffers::Vector<flatbuffers::Offset<fb::FamilySpec>>;

std::string_view beyond(const Families* families) {
  if (families == nullptr) return {};
  for (const fb::FamilySpec* family : *families) {
    if (const std::string_view what = beyond(*family); !what.empty()) return what;
  }
  return {};
}

std::string_view beyond(const fb::CreateTableRequest& request) {
  if (request.profile() != fb::Profile::None) return "a profile";
  if (const auto what = beyond(request.options()); !what.empty()) return what;
  return beyond(request.families());
}

std::string_view beyond(const fb::AlterTableRequest& request) {
  if (request.close_oldest_undo_window()) return "an undo window";
  if (const auto what = beyond(request.options()); !what.empty()) return what;
  if (const auto what = beyond(request.add()); !what.empty()) return what;
  return beyond(request.alter());
}

Result<void> check_enum(bool exists, std::string_view what) {
  if (exists) return {};
  return fail(Errc::invalid_argument, "{} has a value that does not exist", what);
}

Result<void> decode_options(const fb::TableOptions* options, engine::OptionsChange& out) {
  if (options == nullptr) return {};
  if (const auto durability = options->durability()) {
    TRY_VOID(check_enum(*durability <= fb::Durability::Memory, "durability"));
    out.durability = static_cast<Durability>(*durability);
  }
  if (const auto compression = options->compression()) {
    TRY_VOID(check_enum(*compression <= fb::Compression::MAX, "compression"));
    out.compression = static_cast<Compression>(*compression);
  }
  if (const auto block_bytes = options->block_bytes()) out.block_bytes = *block_bytes;
  return {};
}

Result<void> decode_options(const fb::CreateTableRequest& request, engine::TableSpec& out) {
  TRY_VOID(check_enum(request.profile() <= fb::Profile::MAX, "profile"));
  if (const auto granularity = request.granularity()) {
    TRY_VOID(check_enum(*granularity <= fb::Granularity::MAX, "granularity"));
    out.granularity = static_cast<Granularity>(*granularity);
  }
  engine::OptionsChange options;
  TRY_VOID(decode_options(request.options(), options));
  options.apply_to(out.options);
  return validate_options(out.options);
}

Result<void> decode_splits(const fb::CreateTableRequest& request, engine::TableSpec& out) {
  if (request.splits() == nullptr) return {};
  const Bytes arena = wire::bytes_of(request.arena());
  for (const fb::Span* span : *request.splits()) {
    Bytes row;
    if (!wire::view(*span, arena, row)) {
      return fail(Errc::invalid_argument, "split {} lies outside the arena", out.splits.size());
    }
    if (row.empty() || row.size() > kMaxRowKeyBytes) {
      return fail(Errc::invalid_argument, "split {} is {} bytes long, which is not 1 to {}",
                  out.splits.size(), row.size(), kMaxRowKeyBytes);
    }
    out.splits.emplace_back(row);
  }
  return {};
}

flatbuffers::Offset<fb::FamilySpec> describe(flatbuffers::FlatBufferBuilder& builder,
                                             const FamilySchema& family) {
  const auto name = builder.CreateString(family.name);
  fb::FamilySpecBuilder spec(builder);
  spec.add_name(name);
  spec.add_rule_given(true);
  spec.add_timestamps(fb::TimestampMeaning::Time);
  spec.add_window_given(true);
  return spec.Finish();
}

}  // namespace

Result<void> check_family(const fb::FamilySpec& family) {
  TRY_VOID(validate_family_name(wire::text(family.name())));
  TRY_VOID(wire::check_rule(family.rule()));
  if (const auto timestamps = family.timestamps()) {
    TRY_VOID(check_enum(*timestamps <= fb::TimestampMeaning::MAX, "timestamps"));
  }
  if (const auto born_dead = family.born_dead()) {
    TRY_VOID(check_enum(*born_dead <= fb::BornDead::MAX, "born_dead"));
  }
  TRY_VOID(check_enum(family.window_unit() <= fb::WindowUnit::MAX, "window_unit"));
  for (const auto us :
       {family.window_past_us(), family.window_future_us(), family.undo_window_us()}) {
    if (us && *us < 0) {
      return fail(Errc::invalid_argument, "family '{}': a duration of {} us is negative",
                  wire::text(family.name()), *us);
    }
  }
  return {};
}

Result<void> decode_create(const fb::CreateTableRequest& request, const engine::TableMap& tables,
                           engine::TableSpec& out) {
  out.name = wire::text(request.name());
  TRY_VOID(validate_table_name(out.name));
  TRY_VOID(decode_options(request, out));
  if (request.families() != nullptr) {
    for (const fb::FamilySpec* family : *request.families()) {
      TRY_VOID(check_family(*family));
      out.families.push_back({std::string(wire::text(family->name()))});
    }
  }
  TRY_VOID(decode_splits(request, out));
  if (tables.find(Bytes(out.name)) != nullptr) {
    return fail(Errc::already_exists, "table '{}' exists already", out.name);
  }
  if (const std::string_view what = beyond(request); !what.empty()) {
    return std::unexpected(unimplemented(what));
  }
  return {};
}

Result<void> decode_alter(const fb::AlterTableRequest& request, const engine::TableMap& tables,
                          engine::TableChange& out) {
  out.name = wire::text(request.name());
  TRY_VOID(decode_options(request.options(), out.options));
  if (request.add() != nullptr) {
    for (const fb::FamilySpec* family : *request.add()) {
      TRY_VOID(check_family(*family));
      out.add.push_back({std::string(wire::text(family->name()))});
    }
  }
  if (request.alter() != nullptr) {
    for (const fb::FamilySpec* family : *request.alter()) {
      TRY_VOID(check_family(*family));
      out.alter.emplace_back(wire::text(family->name()));
    }
  }
  if (request.drop() != nullptr) {
    for (const auto* name : *request.drop()) out.drop.emplace_back(wire::text(name));
  }
  TRY_VOID(engine::validate_change(out));
  TRY_VOID(engine::check_exists(out, tables));
  if (const std::string_view what = beyond(request); !what.empty()) {
    return std::unexpected(unimplemented(what));
  }
  return {};
}

Bytes build_samples(flatbuffers::FlatBufferBuilder& builder,
                    const std::vector<engine::TabletSize>& tablets) {
  builder.Clear();
  std::string arena;
  uint64_t bytes_before = 0;
  std::vector<fb::SampleRec> samples;
  for (const engine::TabletSize& tablet : tablets) {
    bytes_before += tablet.bytes;
    const fb::Span key(static_cast<uint32_t>(arena.size()),
                       static_cast<uint32_t>(tablet.end.size()));
    arena += tablet.end;
    samples.emplace_back(key, bytes_before);
  }
  const auto list = builder.CreateVectorOfStructs(samples);
  const auto bytes =
      builder.CreateVector(reinterpret_cast<const uint8_t*>(arena.data()), arena.size());
  return wire::finish_body(builder, fb::CreateSampleRowKeysReply(builder, list, bytes));
}

Bytes build_description(flatbuffers::FlatBufferBuilder& builder, const engine::TableEntry& table) {
  builder.Clear();
  const TableSchema& schema = table.schema;
  const auto name = builder.CreateString(schema.name);
  std::vector<flatbuffers::Offset<fb::FamilySpec>> families;
  for (const FamilySchema& family : schema.families) families.push_back(describe(builder, family));
  const auto family_list = builder.CreateVector(families);
  fb::TableOptionsBuilder options(builder);
  options.add_durability(static_cast<fb::Durability>(schema.options.durability));
  options.add_compression(static_cast<fb::Compression>(schema.options.compression));
  options.add_block_bytes(schema.options.block_bytes);
  const auto option_table = options.Finish();

  std::string arena;
  const auto put = [&arena](const std::string& key) {
    const fb::Span span(static_cast<uint32_t>(arena.size()), static_cast<uint32_t>(key.size()));
    arena += key;
    return span;
  };
  std::vector<fb::TabletRec> tablets;
  for (const engine::TabletDescriptor& tablet : table.tablets) {
    const fb::Span start = put(tablet.start);
    const fb::Span end = put(tablet.end);
    tablets.emplace_back(tablet.id.value(), tablet.epoch.value(), start, end, tablet.shard.value(),
                         0);
  }
  const auto tablet_list = builder.CreateVectorOfStructs(tablets);
  const auto bytes =
      builder.CreateVector(reinterpret_cast<const uint8_t*>(arena.data()), arena.size());
  const auto description =
      fb::CreateTableDescription(builder, name, schema.id.value(), schema.version,
                                 static_cast<fb::Granularity>(schema.granularity),
                                 fb::Profile::None, family_list, option_table, tablet_list, bytes);
  return wire::finish_body(builder, description);
}

}  // namespace cellar::server
