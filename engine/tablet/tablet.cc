#include "engine/tablet/tablet.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/read/explainer.h"
#include "engine/read/scan.h"
#include "engine/tablet/conditional.h"
#include "engine/tablet/memory_deaths.h"
#include "engine/tablet/refusals.h"
#include "engine/tablet/row_reads.h"
#include "engine/version/cursor_pin.h"
#include "engine/version/version.h"
#include "io/base/check.h"

namespace cellar::engine {
namespace {

// Capacity of the scratch buffer that is kept for the next commit.
constexpr size_t kKeepPayloadBytes = 64 * 1024;
// A range delete may freeze a memtable of one in so many parts of its full size.
constexpr size_t kDropFreezes = 16;

// The newest schema change that has a stamp; commits must be stamped above it.
CommitStamp newest_change(const TableSchema& schema) {
  CommitStamp newest = last_rule_change(schema);
  for (const FamilySchema& family : schema.families) newest = std::max(newest, family.created);
  return newest;
}

// Validates a DropRowRange.
Result<void> check_range(const RangeDelete& range) {
  const size_t longest = std::max(range.start.size(), range.end.size());
  if (longest <= kMaxRowKeyBytes) return {};
  return fail(Errc::invalid_argument,
              "a bound of {} bytes is longer than a row key may be, which is {}", longest,
              kMaxRowKeyBytes);
}

// Which indexes a memtable of the table has.
std::set<uint64_t> index_ids(const TableSchema& schema) {
  std::set<uint64_t> ids;
  for (const IndexSchema& index : schema.indexes) ids.insert(index.id);
  return ids;
}

TableSums sums_of(const std::vector<TabletRun>& runs) {
  TableSums sums;
  for (const TabletRun& run : runs) {
    sums.tables += run.tables.size();
    for (const Ref<TabletTable>& table : run.tables) sums.bytes += table->slice().bytes();
  }
  return sums;
}

int64_t tokens_until_us(const std::vector<Ref<TabletTable>>& tables) {
  TimeBounds all;
  for (const Ref<TabletTable>& table : tables) all.merge(table->meta().bounds);
  return all.known ? all.tokens_until_us : INT64_MAX;
}

// Inserts a commit's entries into a memtable, and its token into TokenMemory.
class Insert final : public CommitVisitor {
 public:
  Insert(Memtable& to, TokenMemory& tokens, RangeTokens& range_tokens, TabletId tablet)
      : to_(to), tokens_(tokens), range_tokens_(range_tokens), tablet_(tablet) {}
  void entry(Bytes key, Bytes value) override { to_.add(key, value); }
  void token(Bytes key, Bytes value) override {
    to_.add(key, value);
    int64_t until_us = 0;
    if (!parse_token_until(value, until_us)) return;  // a reader of the entry reports the error
    tokens_.note(token_hash(tablet_, token_prefix_of(key)), until_us);
  }
  void range_delete(const RangeDelete& range, CommitStamp stamp) override {
    to_.add_range_delete(range, stamp);
  }
  void range_token(const TokenEntry& token, std::span<const RangeDelete> deleted,
                   CommitStamp stamp) override {
    to_.add_commit(stamp);
    range_tokens_.note(token, deleted, stamp);
  }

 private:
  Memtable& to_;
  TokenMemory& tokens_;
  RangeTokens& range_tokens_;
  TabletId tablet_;
};

}  // namespace

Tablet::Tablet(ShardContext& shard, TabletSeed seed, std::vector<Ref<TabletTable>> tables)
    : shard_(shard),
      id_(seed.id),
      state_(std::move(seed.state)),
      manifest_version_(seed.version),
      facts_(new TabletFacts),
      schema_(new SchemaSnapshot(std::move(seed.schema))),
      last_stamp_(std::max({state_.created, state_.last_flushed, newest_change(schema())})),
      writers_(shard_.flow),
      commits_(*facts_, writers_),
      line_(shard_.turns, *this),
      range_tokens_(shard_.range_tokens, state_.range_tokens),
      memtables_(shard_.memory, shard_.wal),
      row_owner_(shard_.rows.new_owner()),
      orphans_{.may_remain = !tables.empty() && schema().version > 1,
               .since_us = shard.runtime.clock.now_us()},
      tokens_in_tables_until_us_(tokens_until_us(tables)) {
  facts_->visible = last_stamp_;
  std::vector<TabletRun> runs = make_runs(std::move(tables));
  choose_compaction(runs);
  publish(std::move(runs));
}

Tablet::~Tablet() {
  if (counted_.tables != 0) count_tables(false);
  facts_->newest = nullptr;
}

// ---- recovery

Result<void> Tablet::replay(CommitStamp stamp, Bytes payload) {
  if (stamp <= state_.last_flushed) return {};
  TabletMemtable& memtable = active();
  Insert insert(memtable.entries, shard_.tokens, range_tokens_, id_);
  TRY_VOID(visit_commit(payload, stamp, insert));
  memtable.count();
  last_stamp_ = std::max(last_stamp_, stamp);
  replayed_ = true;
  return {};
}

void Tablet::recovered(std::vector<LogSpan> spans, uint64_t manifest_version) {
  state_.spans = std::move(spans);
  manifest_version_ = manifest_version;
  facts_->visible = last_stamp_;
  renew_retention();
  memtables_.freeze_replayed();
}

// ---- commits

bool Tablet::in_range(Bytes row) const {
  return row >= state_.start && (state_.end.empty() || row < state_.end);
}

RangeDelete Tablet::clip(const RangeDelete& range) const {
  RangeDelete clipped = range;
  if (clipped.start < Bytes(state_.start)) clipped.start = state_.start;
  if (!state_.end.empty() && (clipped.end.empty() || clipped.end > Bytes(state_.end))) {
    clipped.end = state_.end;
  }
  return clipped;
}

Result<void> Tablet::check_serving() const {
  if (shard_.wal.is_stopped()) return std::unexpected(shard_.wal.refusal());
  if (obsolete_) return std::unexpected(tablet_is_gone(id_));
  if (access_.refuses_writes) return std::unexpected(tablet_is_reshaped(id_));
  return {};
}

Result<void> Tablet::check_row(Bytes row) const {
  if (in_range(row)) return {};
  return std::unexpected(row_is_elsewhere(row, id_));
}

Result<void> Tablet::check(const Write& write) {
  TRY_VOID(check_serving());
  if (write.range) return check_range(*write.range);
  TRY_VOID(validate_mutation(write.mutation, schema(), shard_.options.limits));
  return check_row(write.mutation.row);
}

// Refuses a range delete if those of the tablet would not fit into one block of a table, with room
// for those of tablets that it is merged with.
Result<void> Tablet::check_range_room(const RangeDelete& range) {
  if (ranges_counted_at_ != history_.publications) {
    ranges_counted_at_ = history_.publications;
    range_bytes_ = 0;
    for (const auto& source : version_->sources) {
      for (const RangeTombstone& one : source->range_deletes()) {
        range_bytes_ += RangeTombstone::most_bytes(one.start.size(), one.end.size());
      }
    }
  }
  const uint64_t bytes = RangeTombstone::most_bytes(range.start.size(), range.end.size());
  const uint64_t most_bytes = shard_.options.most_range_delete_bytes;
  if (range_bytes_ + bytes > most_bytes) {
    return std::unexpected(range_deletes_are_full(id_, range_bytes_, most_bytes));
  }
  return {};
}

CommitStamp Tablet::next_stamp() const {
  const auto now = CommitStamp{static_cast<uint64_t>(shard_.runtime.clock.ask_us()) * 1000};
  return std::max(now, CommitStamp{last_stamp_.value() + 1});
}

// Encodes the write at write.stamp.
Result<void> Tablet::encode(Write& write, bool judged) {
  payload_.clear();
  if (write.range_token != nullptr) return encode_with_range_token(write);
  if (write.range) {
    encode_range_delete(payload_, *write.range);
    return {};
  }
  const auto now_us = static_cast<int64_t>(write.stamp.value() / 1000);
  if (judged) TRY_VOID(schema_->guards.check(write.mutation, now_us));
  canonicalize(write.mutation, schema(), now_us, canonical_);
  encode_row_commit(payload_, write.mutation.row, canonical_, write.token);
  return {};
}

// The ranges that remain to be deleted under the token, perhaps none, and the token.
Result<void> Tablet::encode_with_range_token(const Write& write) {
  const WriteToken& token = *write.range_token;
  const TokenWindow& window = shard_.tokens.window();
  KeyRange rows{std::string(write.range->start), std::string(write.range->end)};
  TRY(const std::vector<KeyRange> left,
      range_tokens_.rows_to_delete(token, std::move(rows), window,
                                   static_cast<int64_t>(write.stamp.value() / 1000)));
  std::vector<RangeDelete> deletes;
  for (const KeyRange& one : left) deletes.push_back({one.start, one.end});
  TokenRecord record;
  record.until_us = token.issued_us + window.window_us;
  record.content = token.content;
  std::string encoded;
  append_token_record(encoded, record);
  const std::string id = token_id(token.client, token.token);
  encode_range_deletes(payload_, deletes, {id, encoded});
  return {};
}

// A repetition of a range delete is as uncertain as its first attempt.
Result<void> Tablet::refuse(const Write& write, Error error) const {
  const bool repeated = write.range_token != nullptr && range_tokens_.knows(*write.range_token);
  if (repeated) error.applied = Applied::maybe_applied;
  return std::unexpected(std::move(error));
}

void Tablet::refuse_turn(Write& write, Error error) {
  write.error = refuse(write, std::move(error)).error();
  write.done(write);
}

Result<void> Tablet::submit(Write& write) {
  if (auto valid = check(write); !valid) return refuse(write, std::move(valid).error());
  auto waits = line_.delay(write);
  if (!waits) return refuse(write, std::move(waits).error());
  return *waits ? Result<void>() : submit_in_order(write);
}

Result<void> Tablet::submit_in_order(Write& write) {
  if (!conditions_.idle()) {
    TRY(const bool waits, conditions_.delay(write));
    if (waits) return {};
  }
  auto taken = commit(write, next_stamp(), true);
  return taken ? taken : refuse(write, std::move(taken).error());
}

Result<void> Tablet::submit(ConditionalWrite& write) {
  TRY_VOID(check_serving());
  TRY_VOID(validate_row_key(write.row));
  if (write.token.present()) TRY_VOID(validate_token(write.token));
  TRY_VOID(check_row(write.row));
  TRY(const bool waits, line_.delay(write));
  return waits ? Result<void>() : submit_in_order(write);
}

Result<void> Tablet::submit_in_order(ConditionalWrite& write) {
  if (!conditions_.idle()) {
    TRY(const bool waits, conditions_.delay(write));
    if (waits) return {};
  }
  const std::string row(write.row);  // `done` may free the write
  if (!begin_conditional(*this, write)) conditions_.open(row);
  return {};
}

void Tablet::take_turn(Write& write) {
  auto taken = check(write);
  if (taken) taken = submit_in_order(write);
  if (!taken) refuse_turn(write, std::move(taken).error());
}

void Tablet::take_turn(ConditionalWrite& write) {
  auto taken = check_serving();
  if (taken) taken = submit_in_order(write);
  if (taken) return;
  write.error = std::move(taken).error();
  write.done(write);
}

Async<void> Tablet::writes_drained() {
  while (!line_.empty() || !conditions_.idle()) {
    co_await line_.drained();
    co_await conditions_.drained();
  }
}

void Tablet::submit_waiting(Write& write) {
  auto taken = check(write);
  if (taken) taken = commit(write, next_stamp(), true);
  if (!taken) refuse_turn(write, std::move(taken).error());
}

bool Tablet::submit_waiting(ConditionalWrite& write) { return begin_conditional(*this, write); }

Result<void> Tablet::commit(Write& write, CommitStamp stamp, bool judged) {
  if (write.range) {
    write.range = clip(*write.range);
    const bool outside = !write.range->end.empty() && write.range->start >= write.range->end;
    if (outside && write.range_token == nullptr) {
      write.done(write);  // the tablet has no part of the range
      return {};
    }
    if (!outside) TRY_VOID(check_range_room(*write.range));
  }
  write.stamp = stamp;
  TRY_VOID(encode(write, judged));
  const size_t in_use = shard_.memory.gauge.bytes;
  if (in_use != 0 && in_use + payload_.size() > shard_.memory.room()) {
    shard_.memory.refused_bytes = payload_.size();
    shard_.watcher->memory_short();
    return std::unexpected(memtables_are_full(shard_.shard, shard_.memory));
  }
  write.owner = this;
  write.append.level = write.level.value_or(schema().options.durability);
  write.append.context = &write;
  write.append.done = [](LogAppend& append) {
    auto& reported = *static_cast<Write*>(append.context);
    if (append.failure != nullptr) (void)reported.owner->shard_.wal.is_stopped();
    reported.owner->commits_.reported(reported);
  };
  if (write.range &&
      memtables_.freeze_before(*write.range, shard_.options.memtable_bytes / kDropFreezes)) {
    shard_.watcher->memtable_full(*this);
  }
  TabletMemtable& memtable = active();  // before the append: it records the log's position
  TRY_VOID(shard_.wal.log->append(
      {.tablet = id_, .epoch = state_.epoch, .stamp = write.stamp, .payload = payload_},
      write.append));
  last_stamp_ = write.stamp;
  history_.last_commit = write.stamp;
  const size_t ranges = memtable.entries.range_deletes().size();
  Insert insert(memtable.entries, shard_.tokens, range_tokens_, id_);
  const auto inserted = visit_commit(payload_, write.stamp, insert);
  CHECK(inserted, "a commit just encoded does not decode: {}", inserted.error().message);
  memtable.count();
  if (write.range) {
    range_deleted_ = write.stamp;
    for (const RangeTombstone& one : std::span(memtable.entries.range_deletes()).subspan(ranges)) {
      range_bytes_ += RangeTombstone::most_bytes(one.start.size(), one.end.size());
    }
  } else {
    shard_.rows.wrote(row_owner_, write.mutation.row, write.stamp);
  }
  commits_.push(write);
  ++shard_.counters.commits;
  ++history_.writes;
  if (!write.range) history_.samples.note(write.mutation.row);
  shard_.wal.growth_bytes += payload_.size();
  writers_.note_commit(payload_.size());
  if (payload_.capacity() > kKeepPayloadBytes) std::string().swap(payload_);
  if (memtables_.becomes_full(shard_.options.memtable_bytes)) shard_.watcher->memtable_full(*this);
  if (shard_.memory.is_nearly_full()) shard_.watcher->memory_short();
  return {};
}

TabletMemtable& Tablet::active() {
  if (memtables_.active() == nullptr) {
    memtables_.begin(schema_->indexes);
    publish(version_->runs);
  }
  return *memtables_.active();
}

// ---- versions

void Tablet::retire_version() {
  if (version_ && version_->use_count() > 1) version_->retire(shard_.readers.old_versions);
}

void Tablet::choose_compaction(const std::vector<TabletRun>& runs) {
  compaction_ = compaction_of(*schema_, runs, compaction_);
}

RunShapes Tablet::run_shapes() const {
  return engine::run_shapes(*schema_, version_->runs, compaction_, shard_.options,
                            shard_.readers.open_blocks_bytes);
}

// Range deletes of a lost table may cover any row of the tablet.
const Error* Tablet::lost_deletes(const std::vector<TabletRun>& runs) {
  for (const TabletRun& run : runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (table->hides_range_deletes()) return table->damage();
    }
  }
  return nullptr;
}

void Tablet::publish(std::vector<TabletRun> runs) {
  Ref<Version> next(new Version);
  next->memtables = memtables_.newest_first();
  next->runs = std::move(runs);
  runs_behind_ = engine::runs_behind(next->runs, compaction_, shard_.options);
  writers_.set_runs_behind(runs_behind_);
  UnreadTables unread = unread_tables(*next, schema_->retention, shard_.runtime.clock.now_us());
  next->sources = read_sources(*next, unread.tables);
  next->unread = std::move(unread.tables);
  next_unread_us_ = unread.next_us;
  retire_version();
  version_ = std::move(next);
  facts_->newest = version_.get();
  facts_->schema_version = schema().version;
  lost_deletes_ = lost_deletes(version_->runs);
  if (counts_tables_) renew_counted(sums_of(version_->runs));
  ++history_.publications;
}

void Tablet::count_tables(bool counts) {
  counts_tables_ = counts;
  renew_counted(counts ? sums_of(version_->runs) : TableSums());
}

void Tablet::renew_counted(TableSums now) {
  shard_.tables.tables += now.tables - counted_.tables;
  shard_.tables.bytes += now.bytes - counted_.bytes;
  counted_ = now;
}

void Tablet::flushed(const Ref<TabletMemtable>& memtable, std::vector<Ref<TabletTable>> tables,
                     TabletState state, uint64_t manifest_version) {
  memtables_.flushed(memtable);
  shard_.wal.deaths.note(memtable->log_end, log_due_us(*this, memtable->entries));
  if (const TimeBounds& bounds = memtable->entries.time_bounds(); bounds.has_cells())
    history_.newest_flushed_us = std::max(history_.newest_flushed_us, bounds.max_timestamp_us);
  state_ = std::move(state);
  manifest_version_ = manifest_version;
  std::vector<TabletRun> runs = make_runs(std::move(tables));
  runs.insert(runs.end(), version_->runs.begin(), version_->runs.end());
  choose_compaction(runs);
  publish(std::move(runs));
  renew_retention();
}

void Tablet::compacted(const std::vector<Ref<TabletTable>>& inputs,
                       std::vector<Ref<TabletTable>> outputs, TabletState state,
                       uint64_t manifest_version) {
  state_ = std::move(state);
  manifest_version_ = manifest_version;
  std::vector<Ref<TabletTable>> tables = std::move(outputs);
  absl::flat_hash_set<const TabletTable*> gone;
  for (const Ref<TabletTable>& input : inputs) gone.insert(input.get());
  for (const TabletRun& run : version_->runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (!gone.contains(table.get())) tables.push_back(table);
    }
  }
  std::vector<TabletRun> runs = make_runs(std::move(tables));
  choose_compaction(runs);
  publish(std::move(runs));
  renew_retention();
  const int64_t now_us = shard_.runtime.clock.now_us();
  for (const Ref<TabletTable>& input : inputs) input->mark_obsolete(schema().id, id_, now_us);
}

// ---- altering the table

void Tablet::alter(TableSchema schema) {
  const auto gone = [&schema](const FamilySchema& family) {
    return schema.find_family(family.name) == nullptr;
  };
  const std::vector<FamilySchema>& before = schema_->value.families;
  if (std::any_of(before.begin(), before.end(), gone)) {
    orphans_.may_remain = true;
    orphans_.since_us = shard_.runtime.clock.now_us();
  }
  last_stamp_ = std::max(last_stamp_, newest_change(schema));
  if (index_ids(schema_->value) != index_ids(schema)) memtables_.renew();
  schema_ = new SchemaSnapshot(std::move(schema));
  row_owner_ = shard_.rows.new_owner();
  shard_.wal.deaths.note_all(log_clear_us());
  choose_compaction(version_->runs);
  publish(version_->runs);
  renew_retention();
}

int64_t Tablet::log_clear_us() const {
  const int64_t wait_us = schema().options.reclaim_within_us / LogDeaths::kClearWait;
  return shard_.runtime.clock.now_us() + wait_us;
}

// Forgets past rules when all data is newer than the last change.
void Tablet::renew_retention() {
  if (!schema_->retention.remembers()) return;
  const CommitStamp gc_watermark = gc_watermark_of(*version_);
  if (gc_watermark < last_rule_change(schema())) return;
  schema_ = new SchemaSnapshot(schema(), gc_watermark);
}

void Tablet::orphans_merged_away(uint64_t schema_version) {
  if (schema_version == schema().version) orphans_.may_remain = false;
}

// ---- dropping

Async<void> Tablet::begin_drop() {
  AsyncMutex::Lock lock = co_await edit_lock_.lock();
  drop_lock_ = std::move(lock);
}

void Tablet::count_references() {
  for (const TabletRun& run : version_->runs) {
    for (const Ref<TabletTable>& table : run.tables) table->set_counted();
  }
}

void Tablet::mark_obsolete() {
  obsolete_ = true;
  count_tables(false);
  facts_->newest = nullptr;
  if (shard_.wal.log) shard_.wal.deaths.note(shard_.wal.log->end(), log_clear_us());
  retire_version();
  const int64_t now_us = shard_.runtime.clock.now_us();
  for (const TabletRun& run : version_->runs) {
    for (const Ref<TabletTable>& table : run.tables) table->mark_obsolete(schema().id, id_, now_us);
  }
  drop_lock_.reset();
}

Result<std::unique_ptr<ScanCursor>> Tablet::open_scan(const ReadSpec& spec,
                                                      const VisibleStamp* as_of,
                                                      std::unique_ptr<CellWatch> watch,
                                                      const NamedColumns* columns) {
  if (rule_hold_.holds_reads() && as_of == nullptr && watch == nullptr)
    return std::unexpected(rule_is_changed(id_));
  note_read(spec);
  if (lost_deletes_ != nullptr) return std::unexpected(*lost_deletes_);
  return make_cursor(spec, as_of, std::move(watch), {}, columns);
}

Result<ReadStart> Tablet::start_read(const ReadSpec& spec, CellSink& sink, RowReads& rows,
                                     const Clock* clock) {
  if (rule_hold_.holds_reads()) return std::unexpected(rule_is_changed(id_));
  note_read(spec);
  if (lost_deletes_ != nullptr) return std::unexpected(*lost_deletes_);
  std::optional<RowStart> started;
  auto outcome = RowReader::Outcome::handed_over;
  if (RowReader::may_read(spec) && in_range(spec.rows.ranges().front().start)) {
    outcome = read_row(spec, sink, rows.reader(schema_), started.emplace());
    if (outcome == RowReader::Outcome::done) return ReadStart{};
    // No cell was returned: the cursor may read at the newest version.
    if (started->cells == 0) started.reset();
  }
  ReadStart start{
      .step = ScanStep::paused, .cursor = make_cursor(spec, nullptr, nullptr, started), .runs = {}};
  if (clock != nullptr) start.cursor->watch(*clock);
  if (outcome != RowReader::Outcome::paused) start.step = start.cursor->run(sink);
  if (start.step == ScanStep::done) {
    start.runs = start.cursor->runs();
    start.cursor.reset();
  }
  return start;
}

Tablet::Expected Tablet::expect_read(Bytes row) const {
  return {
      .sources = &version_->sources, .row_hash = shard_.rows.expect(row_owner_, row), .entry = {}};
}

Tablet::Expected Tablet::expect_write(Bytes row, std::string& key) const {
  shard_.rows.expect(row_owner_, row);  // a commit is noted there
  if (memtables_.active() == nullptr) return {};
  key.clear();
  append_row_prefix(key, row);
  return {.entry = memtables_.active()->entries.tree().expect(key)};
}

CommitStamp Tablet::read_stamp(int64_t now_us) const {
  if (!commits_.empty()) return facts_->visible;
  // All commits are visible, and the next one gets a greater stamp (next_stamp()).
  const uint64_t now = static_cast<uint64_t>(now_us) * 1000;
  return CommitStamp{std::max(now, last_stamp_.value() + 1) - 1};
}

RowReader::Outcome Tablet::read_row(const ReadSpec& spec, CellSink& sink, RowReader& reader,
                                    RowStart& start) {
  const int64_t now_us = shard_.runtime.clock.ask_us();
  start.stamp = facts_->visible;
  start.now_us = std::max(now_us, static_cast<int64_t>(start.stamp.value() / 1000));
  const TimeRange& times = spec.time_range;
  RowQuery query{.owner = row_owner_, .row = spec.rows.ranges().front().start};
  // Under several eras the last time at which a cell is alive is not known.
  bool keep = times.start_us <= 0 && times.end_us == kMaxTimestampUs && !retention().remembers();
  if (keep) {
    const WantedColumns wanted = wanted_columns(spec);
    query.versions = wanted.versions;
    query.columns = wanted.columns;
    if (const CachedRow* row = shard_.rows.find(query, range_deleted_, start.now_us)) {
      return row->give(sink, start.cells) ? RowReader::Outcome::done : RowReader::Outcome::paused;
    }
    keep = shard_.rows.wants_last();
  }
  const Ref<const Version> pin = version_;  // the sink may change the version
  RowReader::Request request{.spec = spec,
                             .sources = pin->sources,
                             .stamp = facts_->visible,
                             .now_us = now_us,
                             .stops = &facts_->stops};
  if (!keep) return reader.read(request, sink, start);
  const CommitStamp stamp = read_stamp(now_us);
  int64_t alive_until_us = INT64_MAX;
  request.alive_until_us = &alive_until_us;
  RowRecorder recorder(sink, shard_.rows.scratch());
  const RowReader::Outcome outcome = reader.read(request, recorder, start);
  if (outcome == RowReader::Outcome::done) shard_.rows.keep(query, recorder, stamp, alive_until_us);
  return outcome;
}

void Tablet::note_read(const ReadSpec& spec) {
  ++history_.reads;
  if (!spec.rows.ranges().empty()) history_.samples.note(spec.rows.ranges().front().start);
  if (next_unread_us_ != INT64_MAX && shard_.runtime.clock.now_us() >= next_unread_us_)
    publish(version_->runs);
}

std::unique_ptr<ScanCursor> Tablet::make_cursor(const ReadSpec& spec, const VisibleStamp* as_of,
                                                std::unique_ptr<CellWatch> watch,
                                                std::optional<RowStart> started,
                                                const NamedColumns* columns) {
  ScanSetup setup;
  setup.columns = columns;
  setup.spec = &spec;
  setup.start = state_.start;
  setup.end = state_.end;
  setup.schema = &schema();
  setup.retention = &schema_->retention;
  setup.now = &shard_.runtime.clock;
  setup.visible = as_of != nullptr ? as_of : facts_.get();
  setup.sources = &version_->sources;
  setup.watch = std::move(watch);
  setup.started = started;
  setup.stops = &facts_->stops;
  const bool of_client = as_of == nullptr && setup.watch == nullptr;
  if (setup.watch == nullptr && (spec.explain || spec.include_dead)) {
    setup.watch =
        std::make_unique<Explainer>(schema(), spec.include_dead, shard_.runtime.clock.now_us());
  }
  auto pin = std::make_unique<CursorPin>(version_, facts_, schema_);
  if (setup.watch != nullptr) setup.sources = &pin->all_sources();
  CursorPin& pinned = *pin;
  setup.pin = std::move(pin);
  auto cursor = std::make_unique<ScanCursor>(std::move(setup));
  if (of_client) shard_.readers.cursors.add(pinned, *cursor);
  return cursor;
}

int64_t reclaim_grace_us(const Tablet& tablet) {
  const int64_t within_us = tablet.schema().options.reclaim_within_us;
  const int64_t margin_us = tablet.margin_us();
  return within_us > INT64_MAX - margin_us ? INT64_MAX : within_us + margin_us;
}

}  // namespace cellar::engine
