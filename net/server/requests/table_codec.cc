#include "net/server/requests/table_codec.h"

#include "net/server/requests/index_spec_codec.h"
#include "net/wire/rule_codec.h"

namespace cellar::server {
namespace fb = wire::fb;
namespace {

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
  out.block_bytes = options->block_bytes();
  out.reclaim_within_us = options->reclaim_within_us();
  out.dead_slack = options->dead_slack();
  out.reclaim_share = options->reclaim_share();
  if (const auto compaction = options->compaction()) {
    TRY_VOID(check_enum(*compaction <= fb::Compaction::MAX, "compaction"));
    out.compaction = static_cast<Compaction>(*compaction);
  }
  if (const auto bottom = options->bottom_compression()) {
    TRY_VOID(check_enum(*bottom <= fb::BottomCompression::MAX, "bottom_compression"));
    out.bottom_compression = static_cast<BottomCompression>(*bottom);
  }
  return {};
}

Result<void> decode_options(const fb::CreateTableRequest& request, engine::TableSpec& out) {
  TRY_VOID(check_enum(request.profile() <= fb::Profile::MAX, "profile"));
  out.profile = static_cast<Profile>(request.profile());
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
  const auto rule = builder.CreateVectorOfStructs(wire::encode_rule(family.rule));
  fb::FamilySpecBuilder spec(builder);
  spec.add_name(name);
  spec.add_rule_given(true);
  spec.add_rule(rule);
  spec.add_timestamps(static_cast<fb::TimestampMeaning>(family.timestamps));
  spec.add_born_dead(static_cast<fb::BornDead>(family.born_dead));
  spec.add_window_given(true);
  if (family.window.past_us) spec.add_window_past_us(*family.window.past_us);
  if (family.window.future_us) spec.add_window_future_us(*family.window.future_us);
  spec.add_window_unit(static_cast<fb::WindowUnit>(family.window.unit));
  spec.add_undo_window_us(family.undo_window_us);
  spec.add_born_dead_from_profile(family.from_profile.born_dead);
  spec.add_window_from_profile(family.from_profile.window);
  return spec.Finish();
}

int64_t time_of(CommitStamp stamp) { return static_cast<int64_t>(stamp.value() / 1000); }

std::vector<flatbuffers::Offset<fb::UndoWindow>> open_windows(
    flatbuffers::FlatBufferBuilder& builder, const TableSchema& schema, int64_t now_us) {
  std::vector<flatbuffers::Offset<fb::UndoWindow>> windows;
  for (const FamilySchema& family : schema.families) {
    for (auto past = family.history.rbegin(); past != family.history.rend(); ++past) {
      if (!past->can_be_undone(now_us)) continue;
      const auto name = builder.CreateString(family.name);
      const auto rule = builder.CreateVectorOfStructs(wire::encode_rule(past->rule));
      windows.push_back(
          fb::CreateUndoWindow(builder, name, rule, time_of(past->until), past->undo_until_us));
    }
  }
  return windows;
}

using Families = flatbuffers::Vector<flatbuffers::Offset<fb::FamilySpec>>;

Result<void> decode_families(const Families* families, std::vector<engine::FamilySpec>& out) {
  if (families == nullptr) return {};
  for (const fb::FamilySpec* family : *families) {
    TRY(engine::FamilySpec spec, decode_family(*family));
    out.push_back(std::move(spec));
  }
  return {};
}

// A part that is present but not marked as given would be ignored.
Result<void> check_given(const fb::FamilySpec& family) {
  if (!family.rule_given() && family.rule() != nullptr && family.rule()->size() > 0)
    return fail(Errc::invalid_argument, "family '{}': a rule without rule_given",
                wire::text(family.name()));
  if (!family.window_given() && (family.window_past_us() || family.window_future_us()))
    return fail(Errc::invalid_argument, "family '{}': a write window without window_given",
                wire::text(family.name()));
  return {};
}

}  // namespace

Result<engine::FamilySpec> decode_family(const fb::FamilySpec& family) {
  engine::FamilySpec out;
  out.name = wire::text(family.name());
  TRY_VOID(validate_family_name(out.name));
  TRY_VOID(check_given(family));
  if (family.rule_given()) {
    auto rule = wire::decode_rule(family.rule());
    if (!rule)
      return fail(Errc::invalid_argument, "family '{}': {}", out.name, rule.error().message);
    out.rule = std::move(*rule);
  }
  if (const auto timestamps = family.timestamps()) {
    out.timestamps = static_cast<TimestampMeaning>(*timestamps);
  }
  if (const auto born_dead = family.born_dead()) out.born_dead = static_cast<BornDead>(*born_dead);
  if (family.window_given()) {
    WriteWindow& window = out.window.emplace();
    window.past_us = family.window_past_us();
    window.future_us = family.window_future_us();
    window.unit = static_cast<WriteWindow::Unit>(family.window_unit());
  }
  out.undo_window_us = family.undo_window_us();
  TRY_VOID(engine::validate_spec(out));
  return out;
}

Result<void> decode_create(const fb::CreateTableRequest& request, const engine::TableMap& tables,
                           engine::TableSpec& out) {
  out.name = wire::text(request.name());
  TRY_VOID(validate_table_name(out.name));
  TRY_VOID(decode_options(request, out));
  TRY_VOID(decode_families(request.families(), out.families));
  for (const engine::FamilySpec& family : out.families) {
    TRY_VOID(validate_family(family.under(out.profile)));
  }
  TRY_VOID(decode_splits(request, out));
  if (tables.find(Bytes(out.name)) != nullptr) {
    return fail(Errc::already_exists, "table '{}' exists already", out.name);
  }
  return {};
}

Result<void> decode_alter(const fb::AlterTableRequest& request, const engine::TableMap& tables,
                          engine::TableChange& out) {
  out.name = wire::text(request.name());
  TRY_VOID(decode_options(request.options(), out.options));
  TRY_VOID(decode_families(request.add(), out.add));
  TRY_VOID(decode_families(request.alter(), out.alter));
  if (request.drop() != nullptr) {
    for (const auto* name : *request.drop()) out.drop.emplace_back(wire::text(name));
  }
  out.close_oldest_undo_window = request.close_oldest_undo_window();
  TRY_VOID(engine::validate_change(out));
  return engine::check_exists(out, tables);
}

Bytes build_samples(flatbuffers::FlatBufferBuilder& builder,
                    const std::vector<engine::TabletSize>& tablets) {
  builder.Clear();
  wire::ArenaBuilder arena;
  uint64_t bytes_before = 0;
  std::vector<fb::SampleRec> samples;
  for (const engine::TabletSize& tablet : tablets) {
    bytes_before += tablet.bytes;
    const fb::Span key = arena.add(tablet.end);
    samples.emplace_back(key, bytes_before);
  }
  const auto list = builder.CreateVectorOfStructs(samples);
  const auto bytes = arena.finish(builder);
  return wire::finish_body(builder, fb::CreateSampleRowKeysReply(builder, list, bytes));
}

Bytes build_history(flatbuffers::FlatBufferBuilder& builder, const TableSchema& schema,
                    const FamilySchema& family, int64_t now_us) {
  builder.Clear();
  std::vector<flatbuffers::Offset<fb::RuleEra>> eras;
  const std::vector<PastRule>& history = family.history;
  for (size_t i = history.size() + 1; i-- > 0;) {
    const bool in_force = i == history.size();
    const auto rule =
        builder.CreateVectorOfStructs(wire::encode_rule(in_force ? family.rule : history[i].rule));
    const PastRule* began = i == 0 ? nullptr : &history[i - 1];
    eras.push_back(fb::CreateRuleEra(
        builder, rule, began != nullptr ? time_of(began->until) : time_of(family.created),
        in_force ? 0 : time_of(history[i].until),
        began != nullptr && began->can_be_undone(now_us) ? began->undo_until_us : 0));
  }
  const auto list = builder.CreateVector(eras);
  return wire::finish_body(builder, fb::CreateRuleHistoryReply(builder, schema.version, list,
                                                               family.undo_window_us, now_us));
}

Bytes build_description(flatbuffers::FlatBufferBuilder& builder, const engine::TableEntry& table,
                        int64_t now_us) {
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
  options.add_reclaim_within_us(schema.options.reclaim_within_us);
  options.add_dead_slack(schema.options.dead_slack);
  options.add_reclaim_share(schema.options.reclaim_share);
  options.add_compaction(static_cast<fb::Compaction>(schema.options.compaction));
  options.add_bottom_compression(
      static_cast<fb::BottomCompression>(schema.options.bottom_compression));
  const auto option_table = options.Finish();

  wire::ArenaBuilder arena;
  std::vector<fb::TabletRec> tablets;
  for (const engine::TabletDescriptor& tablet : table.tablets) {
    const fb::Span start = arena.add(tablet.start);
    const fb::Span end = arena.add(tablet.end);
    tablets.emplace_back(tablet.id.value(), tablet.epoch.value(), start, end, tablet.shard.value(),
                         0);
  }
  std::vector<flatbuffers::Offset<fb::IndexSpec>> indexes;
  for (const IndexSchema& index : schema.indexes) indexes.push_back(describe_index(builder, index));
  const auto index_list = builder.CreateVector(indexes);
  const auto window_list = builder.CreateVector(open_windows(builder, schema, now_us));
  const auto tablet_list = builder.CreateVectorOfStructs(tablets);
  const auto bytes = arena.finish(builder);
  const auto description = fb::CreateTableDescription(
      builder, name, schema.id.value(), schema.version,
      static_cast<fb::Granularity>(schema.granularity), static_cast<fb::Profile>(schema.profile),
      family_list, option_table, tablet_list, bytes, window_list, index_list);
  return wire::finish_body(builder, description);
}

}  // namespace cellar::server
