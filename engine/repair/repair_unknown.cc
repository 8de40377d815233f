// Repair without a manifest that decides: every table on disk and every commit of every log, each
// table as one run of one tablet over all rows.
#include <algorithm>
#include <set>

#include "engine/catalog/catalog.h"
#include "engine/manifest/table_state.h"
#include "engine/repair/merge_tables.h"
#include "engine/repair/repair_work.h"
#include "engine/store/blob/blob_files.h"

namespace cellar::engine {
namespace {

constexpr uint64_t kLogIds = uint64_t{1} << 48;    // a session and a shard
constexpr uint64_t kSessions = uint64_t{1} << 30;  // make_blob_id()

// A table whose rows were found, or whose definition is known.
struct Found {
  std::vector<MergeSource> sources;
  CommitTarget commits;
  std::set<std::string> families;
  uint64_t orphan_tablet = 0;  // a tablet of an unknown table; 0: the table is known by number
};

class UnknownRepair final : private LogTaker {
 public:
  explicit UnknownRepair(RepairWork& work) : work_(work) {}

  Async<Result<void>> run() {
    for (const auto& [key, entry] : work_.manifest.entries) read_entry(key, entry);
    CO_TRY(std::vector<BlobInfo> blobs, co_await work_.from_blobs->list());
    CO_TRY_VOID(choose_session(blobs));
    commits_.emplace(*work_.to_blobs, *work_.ids, work_.options.memtable_bytes);
    // Newest first: a newer file may have the tombstone of a cell that an older one still holds.
    std::ranges::sort(blobs, [](const BlobInfo& a, const BlobInfo& b) { return a.id > b.id; });
    for (const BlobInfo& blob : blobs) {
      if (blob.sealed) CO_TRY_VOID(co_await take_table(blob.id));
    }
    for (const auto& [id, files] : work_.logs) CO_TRY_VOID(co_await take_log(id, files));
    CO_TRY_VOID(co_await commits_->finish());
    for (auto& [id, found] : found_) CO_TRY_VOID(co_await write_table(id, found));
    for (const auto& [id, table] : known_) {
      if (!found_.contains(id)) write_entries(id, {}, {});
    }
    write_node();
    co_return Result<void>();
  }

 private:
  // What is unreadable is as if it were lost.
  void read_entry(ManifestKey key, const ManifestEntry& entry) {
    switch (key.kind) {
      case ManifestKey::Kind::node:
        if (const auto node = decode_node_state(entry.state)) node_ = *node;
        break;
      case ManifestKey::Kind::table:
        if (auto table = decode_table_state(entry.state)) known_[TableId{key.id}] = *table;
        saw(TableId{key.id});
        break;
      case ManifestKey::Kind::tablet:
        if (const auto tablet = decode_tablet_state(entry.state)) {
          tablets_[TabletId{key.id}] = tablet->table;
          saw(tablet->table);
        }
        last_tablet_ = std::max(last_tablet_, key.id);
        break;
      case ManifestKey::Kind::clock:
        if (const auto clock = decode_clock_state(entry.state)) clock_ = *clock;
        break;
      case ManifestKey::Kind::audit:
        if (AuditTrail::decode(entry)) work_.entries[key] = entry;
        break;
    }
  }

  void saw(TableId id) { last_table_ = std::max(last_table_, id.value()); }

  Result<void> choose_session(const std::vector<BlobInfo>& blobs) {
    uint64_t session = node_.session.value();
    for (const BlobInfo& blob : blobs) session = std::max(session, blob.id.value() >> 34);
    for (const auto& [id, files] : work_.logs) {
      if (id.value() < kLogIds) session = std::max(session, id.value() >> 16);
    }
    if (session + 1 >= kSessions) {
      return fail(Errc::failed_precondition,
                  "a file's name has session {}; the greatest is {}: remove files that are none of "
                  "Cellar's",
                  session, kSessions - 2);
    }
    node_.session = SessionEpoch{static_cast<uint32_t>(session + 1)};
    node_.own_sessions = SessionSet::up_to(node_.session);
    work_.ids = std::make_unique<RepairIds>(node_.session);
    return {};
  }

  std::string name_of(TableId id) const {
    const auto known = known_.find(id);
    return known != known_.end() ? known->second.schema.name : fmt::format("table {}", id);
  }

  Async<Result<void>> take_table(BlobId id) {
    ++work_.report.files_found;
    if (work_.options.progress) work_.options.progress(fmt::format("table {}", blob_path(id)));
    auto blob = co_await work_.from_blobs->open(id);
    if (!blob) {
      lose_table(work_, id, nullptr, {}, blob.error().message);
      co_return Result<void>();
    }
    TableSalvage salvage(**blob);
    co_await salvage.open();
    if (!salvage.readable() || !salvage.meta()) {
      const TableMeta* meta = salvage.meta() ? &*salvage.meta() : nullptr;
      lose_table(work_, id, meta, meta != nullptr ? name_of(meta->table) : std::string(),
                 salvage.damage());
      co_return Result<void>();
    }
    const TableMeta meta = *salvage.meta();
    Found& found = found_[meta.table];
    saw(meta.table);
    tablets_.emplace(meta.tablet, meta.table);
    last_tablet_ = std::max(last_tablet_, meta.tablet.value());
    work_.last = std::max(work_.last, meta.max_stamp);
    while (salvage.damage().empty()) {
      const bool more = co_await salvage.next_block();
      if (!more) break;
    }
    if (salvage.damage().empty()) {
      found.sources.push_back({work_.from_blobs.get(), id});
      ++work_.report.files_copied;
      co_return Result<void>();
    }
    TableSalvage again(**blob);
    co_await again.open();
    CO_TRY(const auto rest, co_await rewrite_table(work_, again, id, name_of(meta.table)));
    if (rest) found.sources.push_back({work_.to_blobs.get(), rest->blob});
    co_return Result<void>();
  }

  Async<Result<void>> take_log(LogId id, const LogFiles& files) {
    if (files.segments.empty()) co_return Result<void>();
    if (id.value() >= kLogIds) {
      work_.report.damage.push_back(fmt::format("log {:016x} is none of Cellar's", id.value()));
      co_return Result<void>();
    }
    if (work_.options.progress) work_.options.progress(fmt::format("log {:016x}", id.value()));
    LogSalvage log(work_.from, id, files.segments);
    CO_TRY_VOID(co_await read_log(work_, log, 0, 0, *this));
    for (const LogGap& gap : log.gaps()) lose_log_part(work_, gap);
    co_return Result<void>();
  }

  void entry(const LogEntry& entry, LogPosition end) override {
    (void)end;
    const auto tablet = tablets_.find(entry.tablet);
    const TableId table = tablet != tablets_.end() ? tablet->second : table_for(entry.tablet);
    Found& found = found_[table];
    CommitTarget& target = found.commits;
    target.format.table = table;
    work_.count(entry.stamp, commits_->add(target, entry.stamp, entry.payload));
  }
  Async<Result<void>> rest() override { return commits_->rest(); }

  // A new table for a tablet of which nothing but commits is known. Two such tablets are never
  // joined: they may be of two tables that have the same rows.
  TableId table_for(TabletId tablet) {
    const TableId id = std::max(node_.next_table, TableId{last_table_ + 1});
    saw(id);
    tablets_[tablet] = id;
    last_tablet_ = std::max(last_tablet_, tablet.value());
    found_[id].orphan_tablet = tablet.value();
    return id;
  }

  Async<Result<void>> write_table(TableId id, Found& found) {
    for (const TableMeta& meta : found.commits.written) {
      found.sources.push_back({work_.to_blobs.get(), meta.blob});
    }
    TableWriterOptions format;
    format.table = id;
    format.tablet = next_tablet();
    format.run = 1;
    TableOptions options;
    if (const auto known = known_.find(id); known != known_.end()) {
      options = known->second.schema.options;
    }
    format.compression = options.compression;
    format.block_bytes = options.block_bytes;
    if (work_.options.progress) work_.options.progress(fmt::format("{}: merging", name_of(id)));
    TableMerge merge(work_.executor, *work_.to_blobs, *work_.ids);
    CO_TRY(const std::vector<TableMeta> outputs,
           co_await merge.run(std::move(found.sources), format, found.families));
    write_entries(id, outputs, found);
    co_return Result<void>();
  }

  TabletId next_tablet() const {
    return TabletId{std::max(node_.next_tablet.value(), last_tablet_ + 1)};
  }

  // The table's definition, with a family for every one that its entries name.
  TableState definition(TableId id, const Found& found, RepairedTable& report) {
    TableState state;
    if (const auto known = known_.find(id); known != known_.end()) {
      state = known->second;
    } else {
      report.defined = false;
      state.schema.id = id;
      state.schema.granularity = Granularity::micros;
      state.schema.name = found.orphan_tablet == 0
                              ? fmt::format("recovered_{}", id)
                              : fmt::format("recovered_tablet_{}", found.orphan_tablet);
    }
    for (const std::string& name : found.families) {
      if (state.schema.find_family(name) != nullptr) continue;
      state.schema.families.push_back({.name = name, .created = {}});
      report.added_families.push_back(name);
    }
    std::ranges::sort(state.schema.families, {}, &FamilySchema::name);
    // Two tables may claim a name: the drop of one is lost.
    if (!state.drop) {
      const std::string wanted = state.schema.name;
      for (int n = 2; !names_.insert(state.schema.name).second; ++n) {
        state.schema.name = fmt::format("recovered_{}_{}", id, n);
      }
      if (state.schema.name != wanted) {
        work_.report.damage.push_back(fmt::format(
            "two tables have the name '{}'; table {} is '{}' now", wanted, id, state.schema.name));
      }
    }
    return state;
  }

  void write_entries(TableId id, const std::vector<TableMeta>& outputs, const Found& found) {
    RepairedTable report{.id = id.value(), .name = {}};
    const TableState table = definition(id, found, report);
    report.name = table.schema.name;
    report.dropped = table.drop.has_value();
    report.tablets = 1;
    report.commits = found.commits.commits;
    const TabletId tablet = next_tablet();
    last_tablet_ = tablet.value();
    TabletState state;
    state.table = id;
    state.last_flushed = found.commits.last;
    state.next_run = 2;
    ManifestEntry& entry = work_.entries[key_of(tablet)];
    for (const TableMeta& meta : outputs) {
      state.last_flushed = std::max(state.last_flushed, meta.max_stamp);
      entry.items[meta.blob.value()] = encode_table_item({.meta = meta, .rows = {}});
      ++report.files;
      report.bytes += meta.file_bytes;
    }
    entry.state = encode_tablet_state(state);
    work_.entries[key_of(id)].state = encode_table_state(table.schema, table.drop);
    work_.report.tables.push_back(std::move(report));
  }

  void write_node() {
    node_.next_tablet = next_tablet();
    node_.next_table = std::max(node_.next_table, TableId{last_table_ + 1});
    work_.entries[kNodeKey].state = encode_node_state(node_);
    const auto clock = clock_not_before(clock_, work_.last);
    if (clock) work_.entries[{ManifestKey::Kind::clock, 0}].state = encode_clock_state(*clock);
  }

  RepairWork& work_;
  NodeState node_;
  std::optional<ClockState> clock_;
  std::map<TableId, TableState> known_;
  std::map<TabletId, TableId> tablets_;
  uint64_t last_tablet_ = 0;  // the greatest number of any file or entry
  uint64_t last_table_ = 0;
  std::optional<CommitTables> commits_;
  std::map<TableId, Found> found_;
  std::set<std::string> names_;
};

}  // namespace

Async<Result<void>> repair_unknown(RepairWork& work) {
  UnknownRepair repair(work);
  co_return co_await repair.run();
}

}  // namespace cellar::engine
