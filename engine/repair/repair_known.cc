// Repair by a manifest that decides: its files, its spans of logs, its tablets.
#include <algorithm>

#include "engine/catalog/catalog.h"
#include "engine/repair/repair_work.h"

namespace cellar::engine {
namespace {

class KnownRepair final : private LogTaker {
 public:
  explicit KnownRepair(RepairWork& work) : work_(work) {}

  Async<Result<void>> run() {
    CO_TRY(contents_, decode_manifest(work_.manifest.entries));
    work_.entries = work_.manifest.entries;
    contents_.node.draw_session();
    work_.ids = std::make_unique<RepairIds>(contents_.node.session);
    commits_.emplace(*work_.to_blobs, *work_.ids, work_.options.memtable_bytes);
    for (const auto& [id, table] : contents_.tables) {
      report_of(id) = {
          .id = id.value(), .name = table.schema.name, .dropped = table.drop.has_value()};
    }
    for (TabletSeed& seed : contents_.tablets) CO_TRY_VOID(co_await rescue_tables(seed));
    plan_logs();
    for (auto& [log, wants] : logs_) CO_TRY_VOID(co_await rescue_log(log));
    CO_TRY_VOID(co_await commits_->finish());
    for (TabletSeed& seed : contents_.tablets) write_tablet(seed);
    write_node();
    CO_TRY_VOID(co_await count_ignored());
    for (auto& [id, table] : tables_) work_.report.tables.push_back(std::move(table));
    co_return Result<void>();
  }

 private:
  struct Want {
    CommitTarget* target;
    Epoch epoch;
    LogSpan span;
  };

  RepairedTable& report_of(TableId id) { return tables_[id]; }

  Async<Result<void>> rescue_tables(TabletSeed& seed) {
    RepairedTable& table = report_of(seed.state.table);
    ++table.tablets;
    std::vector<TableItem> kept;
    for (TableItem& item : seed.tables) {
      const BlobId id = item.meta.blob;
      if (!rescued_.contains(id)) {
        CO_TRY(auto rescued, co_await rescue_table(work_, item.meta, table.name));
        if (rescued) {
          ++table.files;
          table.bytes += rescued->meta.file_bytes;
        }
        rescued_.emplace(id, std::move(rescued));
      }
      const auto& rescued = rescued_.at(id);
      if (!rescued) continue;
      work_.last = std::max(work_.last, rescued->meta.max_stamp);
      if (!rescued->copied) item.meta = rescued->meta;
      kept.push_back(std::move(item));
    }
    seed.tables = std::move(kept);
    co_return Result<void>();
  }

  void plan_logs() {
    for (const TabletSeed& seed : contents_.tablets) {
      CommitTarget& target = targets_[seed.id];
      target.format.table = seed.state.table;
      target.format.tablet = seed.id;
      target.format.tablet_start = seed.state.start;
      target.format.tablet_end = seed.state.end;
      target.format.run = seed.state.next_run;
      target.format.compression = seed.schema.options.compression;
      target.format.block_bytes = seed.schema.options.block_bytes;
      target.after = seed.state.last_flushed;
      for (const RangeToken& token : seed.state.range_tokens) target.range_tokens[token.id] = token;
      for (const LogSpan& span : seed.state.spans) {
        if (span.from == span.to) continue;
        logs_[span.log][seed.id].push_back({&target, seed.state.epoch, span});
      }
    }
  }

  Async<Result<void>> rescue_log(LogId id) {
    wants_ = &logs_.at(id);
    uint64_t from = UINT64_MAX;
    uint64_t end = 0;
    for (const auto& [tablet, wants] : *wants_) {
      for (const Want& want : wants) {
        from = std::min(from, want.span.from.value());
        if (want.span.to != kLogEnd) end = std::max(end, want.span.to.value());
      }
    }
    const auto files = work_.logs.find(id);
    if (files == work_.logs.end() || files->second.segments.empty()) {
      LogGap gap{.from = from, .to = UINT64_MAX, .place = fmt::format("log {:016x}", id.value())};
      lose_log_part(work_, gap);
      co_return Result<void>();
    }
    if (work_.options.progress) work_.options.progress(fmt::format("log {:016x}", id.value()));
    LogSalvage log(work_.from, id, files->second.segments);
    CO_TRY_VOID(co_await read_log(work_, log, from, end, *this));
    for (const LogGap& gap : log.gaps()) {
      if (is_wanted(gap)) lose_log_part(work_, gap);
    }
    co_return Result<void>();
  }

  // Whether an entry that some tablet needs may have been in it.
  bool is_wanted(const LogGap& gap) const {
    for (const auto& [tablet, wants] : *wants_) {
      for (const Want& want : wants) {
        if (gap.to > want.span.from.value() && gap.from < want.span.to.value()) return true;
      }
    }
    return false;
  }

  void entry(const LogEntry& entry, LogPosition end) override {
    const auto at = wants_->find(entry.tablet);
    if (at == wants_->end()) return;
    for (const Want& want : at->second) {
      CommitTarget& target = *want.target;
      if (want.epoch != entry.epoch || !want.span.contains(end)) continue;
      if (entry.stamp <= target.after) continue;
      work_.count(entry.stamp, commits_->add(target, entry.stamp, entry.payload));
    }
  }
  Async<Result<void>> rest() override { return commits_->rest(); }

  void write_tablet(TabletSeed& seed) {
    CommitTarget& target = targets_.at(seed.id);
    RepairedTable& table = report_of(seed.state.table);
    table.commits += target.commits;
    for (TableMeta& meta : target.written) {
      ++table.files;
      table.bytes += meta.file_bytes;
      seed.tables.push_back({.meta = std::move(meta), .rows = {}});
    }
    seed.state.spans.clear();
    seed.state.last_flushed = std::max(seed.state.last_flushed, target.last);
    seed.state.next_run = target.format.run;
    seed.state.range_tokens.clear();
    for (auto& [id, token] : target.range_tokens) {
      seed.state.range_tokens.push_back(std::move(token));
    }
    ManifestEntry& entry = work_.entries[key_of(seed.id)];
    entry.state = encode_tablet_state(seed.state);
    entry.items.clear();
    for (const TableItem& item : seed.tables) {
      entry.items[item.meta.blob.value()] = encode_table_item(item);
    }
  }

  void write_node() {
    work_.entries[kNodeKey].state = encode_node_state(contents_.node);
    const auto clock = clock_not_before(contents_.clock, work_.last);
    if (clock) work_.entries[{ManifestKey::Kind::clock, 0}].state = encode_clock_state(*clock);
  }

  Async<Result<void>> count_ignored() {
    CO_TRY(const auto found, co_await work_.from_blobs->list());
    for (const BlobInfo& blob : found) {
      work_.report.files_ignored += blob.sealed && !rescued_.contains(blob.id);
    }
    co_return Result<void>();
  }

  RepairWork& work_;
  ManifestContents contents_;
  std::optional<CommitTables> commits_;
  std::map<TableId, RepairedTable> tables_;
  std::map<BlobId, std::optional<RescuedTable>> rescued_;
  std::map<TabletId, CommitTarget> targets_;
  std::map<LogId, std::map<TabletId, std::vector<Want>>> logs_;
  const std::map<TabletId, std::vector<Want>>* wants_ = nullptr;  // of the log being read
};

}  // namespace

Async<Result<void>> repair_known(RepairWork& work) {
  KnownRepair repair(work);
  co_return co_await repair.run();
}

}  // namespace cellar::engine
