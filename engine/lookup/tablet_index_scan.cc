#include "engine/lookup/tablet_index_scan.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/iter/merging_iterator.h"
#include "engine/lookup/candidate.h"
#include "engine/lookup/entry_preparation.h"
#include "engine/lookup/pinned_rows.h"
#include "engine/model/fatal_age.h"
#include "engine/read/block_load.h"
#include "engine/sstable/index_section.h"
#include "engine/tablet/index_readiness.h"
#include "engine/tablet/refusals.h"
#include "engine/version/cursor_pin.h"
#include "io/base/saturating.h"
#include "io/loop/event.h"

namespace cellar::engine {
namespace {

// A slice of work between two yields. Checked at every kCandidatesPerLook-th candidate.
constexpr int64_t kSliceUs = 300;
constexpr size_t kCandidatesPerLook = 16;
// Rows whose first hit is remembered.
constexpr size_t kMostFirsts = 4096;

// Finds the first hit of a row in reading order among its living cells.
class FirstHit final : public CellSink {
 public:
  FirstHit(CandidateTest& test, const IndexSchema& index, int64_t now_us, bool reversed)
      : test_(test), index_(index), now_us_(now_us), reversed_(reversed) {}

  Flow cell(const CellView& cell) override {
    if (cell.family != index_.family) return Flow::more;
    if (index_.qualifier && cell.qualifier != *index_.qualifier) return Flow::more;
    if (!test_.passes(cell.row, cell.qualifier, cell.timestamp_us, cell.value, now_us_, key_))
      return Flow::more;
    const bool before = reversed_ ? key_ > position_ : key_ < position_;
    if (position_.empty() || before) position_.swap(key_);
    return Flow::more;
  }
  Flow end_row(Bytes /*row*/) override { return Flow::more; }
  // Empty: there is none.
  const std::string& position() const { return position_; }

 private:
  CandidateTest& test_;
  const IndexSchema& index_;
  const int64_t now_us_;
  const bool reversed_;
  std::string key_;
  std::string position_;
};

enum class Verdict : uint8_t { none, hit, unknown };

class TabletIndexScan final : public IndexScan, private VersionHolder {
 public:
  TabletIndexScan(Tablet& tablet, Ref<const TabletFacts> facts, const IndexReadSpec& spec,
                  const IndexSchema& index)
      : shard_(tablet.shard()),
        tablet_(tablet.id()),
        facts_(std::move(facts)),
        schema_(tablet.schema_snapshot()),
        start_(tablet.state().start),
        end_(tablet.state().end),
        spec_(spec),
        index_(index),
        test_(spec_, index_),
        rows_(*schema_, start_, end_),
        position_(spec.after) {
    spec_.rows = spec_.rows.clip(start_, end_);
    note_columns();
    shard_.readers.cursors.add(*this);
  }

  // Pins the newest version. An error if it does not have all entries that the read must find.
  Result<void> pin();
  // Makes the iterators, unless entries of memtables are left to make.
  void prepare();
  Async<Result<void>> next(IndexBatch& batch, IndexBatchLimits limits) override;

 private:
  void note_columns();
  Async<void> prepare_within(int64_t work_us);
  Result<void> check_ready() const;
  void add_memtables();
  void add_tables();
  bool is_wanted(const IndexSection& section) const;
  std::unexpected<Error> is_not_ready() const;
  bool is_outdated() const {
    return facts_->newest == nullptr || facts_->reads_held ||
           facts_->schema_version != schema_->value.version;
  }
  bool holds_flushed() const override;
  void let_go() override;
  void close();
  Async<Result<void>> fill(IndexBatch& batch, const IndexBatchLimits& limits);
  Step move();
  Result<bool> stand(Step step);
  bool is_dead(const Candidate& candidate, Bytes entry_value) const;
  bool is_one_read() const;
  const NamedColumns& read_columns() const;
  uint32_t versions() const { return newest_only() ? 1 : 0; }
  Verdict judge(const Candidate& candidate, Bytes entry_value, IndexHit& hit);
  bool keep_indexed_first(const Candidate& candidate, std::vector<HitCell>& cells);
  Async<Result<Verdict>> judge_slowly(const Candidate& candidate, IndexHit& hit);
  Async<Result<void>> add_covered(const Candidate& candidate, std::vector<HitCell>& cells);
  Async<Result<std::string>> first_of_row(const std::string& row);
  Async<Result<bool>> find_row(const Candidate& candidate, IndexHit& hit);
  void note_hiding(HitCell& cell, bool newer) const;
  Async<Result<void>> explain(const Candidate& candidate, IndexHit& hit);
  void aim(const Candidate& candidate);
  bool newest_only() const { return index_.match == IndexMatch::newest; }

  ShardContext& shard_;
  const TabletId tablet_;
  const Ref<const TabletFacts> facts_;
  const Ref<const SchemaSnapshot> schema_;
  const std::string start_;
  const std::string end_;
  IndexReadSpec spec_;
  const IndexSchema index_;
  CandidateTest test_;
  Ref<const Version> version_;           // null: not open
  PinnedRows rows_;                      // of version_
  std::optional<int64_t> fatal_age_us_;  // of the family's rule
  NamedColumns indexed_;                 // the candidate's column
  NamedColumns covered_;                 // those of families that exist
  NamedColumns both_;

  absl::flat_hash_map<std::string, std::string> firsts_;  // see first_of_row()
  PinnedRows::Instant instant_;
  IndexBounds bounds_;
  std::optional<EntryPreparation> preparation_;  // nothing: merge_ has its iterators
  MergingIterator merge_;
  bool running_ = false;     // next() is under way,
  bool must_close_ = false;  // and the version is wanted back
  bool begun_ = false;       // the merge stands at a candidate
  std::string position_;     // everything up to here was taken
  std::string scratch_key_;
  size_t looked_ = 0;
};

void TabletIndexScan::note_columns() {
  if (const FamilySchema* family = schema_->value.find_family(index_.family)) {
    fatal_age_us_ = cellar::fatal_age_us(family->rule);
  }
  for (const IndexColumn& column : index_.covered) {
    if (schema_->value.find_family(column.family) != nullptr)
      covered_.push_back({column.family, column.qualifier});
  }
  indexed_.push_back({index_.family, index_.qualifier.value_or("")});
  both_ = covered_;
  both_.push_back(indexed_.front());
  normalize(both_);
}

Result<void> TabletIndexScan::pin() {
  version_ = Ref<const Version>(facts_->newest);
  instant_.stamp = facts_->visible;
  instant_.now_us =
      std::max({shard_.runtime.clock.ask_us(), static_cast<int64_t>(instant_.stamp.value() / 1000),
                schema_->retention.not_before_us()});
  spec_.after = position_;
  bounds_ = bounds_of(spec_, index_);
  begun_ = false;
  if (auto ready = check_ready(); !ready) {
    close();
    return ready;
  }
  preparation_.emplace(version_);
  rows_.reset(version_.get(), instant_);
  return {};
}

Result<void> TabletIndexScan::check_ready() const {
  for (const Ref<TabletMemtable>& memtable : version_->memtables) {
    if (!memtable->entries.has_index(index_.id)) return is_not_ready();
  }
  for (const TabletRun& run : version_->runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (table->slice().table().is_lost()) return std::unexpected(*table->damage());
      if (!has_entries(table->meta(), index_, instant_.now_us)) return is_not_ready();
    }
  }
  return {};
}

void TabletIndexScan::prepare() {
  if (!preparation_->step()) return;
  preparation_.reset();
  add_memtables();
  add_tables();
}

void TabletIndexScan::add_memtables() {
  for (const Ref<TabletMemtable>& memtable : version_->memtables) {
    const EntryTree& entries = *memtable->entries.index_entries(index_.id);
    if (!entries.empty()) merge_.add(std::make_unique<EntryTree::Iterator>(entries));
  }
}

void TabletIndexScan::add_tables() {
  const std::vector<const TabletTable*>& unread = version_->unread;
  for (const TabletRun& run : version_->runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      const IndexSection& section = *table->meta().section_of(index_.id);
      if (section.entries == 0 || !is_wanted(section)) continue;
      if (!spec_.explain && std::ranges::find(unread, table.get()) != unread.end()) continue;
      merge_.add(std::make_unique<SectionIterator>(table->slice().table(), section));
    }
  }
}

std::unexpected<Error> TabletIndexScan::is_not_ready() const {
  const IndexState state = index_state_of(*version_, index_, instant_.now_us);
  return fail(Errc::failed_precondition,
              "index '{}' is being built: {:.0f} % of its entries are there", index_.name,
              100 * state.share_done());
}

// Some entry may meet the conditions on time.
bool TabletIndexScan::is_wanted(const IndexSection& section) const {
  if (spec_.explain) return true;
  if (!test_.is_young(section.newest_us, instant_.now_us)) return false;
  if (!spec_.time) return true;
  return section.newest_us >= spec_.time->start_us &&
         (section.oldest_us < spec_.time->end_us || spec_.time->end_us == kMaxTimestampUs);
}

bool TabletIndexScan::holds_flushed() const {
  return version_ && std::ranges::any_of(version_->memtables,
                                         [](const auto& memtable) { return memtable->flushed; });
}

// Within next() it ends with the present candidate.
void TabletIndexScan::let_go() {
  if (running_) {
    must_close_ = true;
  } else {
    close();
  }
}

void TabletIndexScan::close() {
  preparation_.reset();
  merge_.clear();
  firsts_.clear();
  rows_.reset(nullptr, {});
  version_ = nullptr;
}

// Moves to the next candidate's entry.
Step TabletIndexScan::move() {
  if (merge_.sources() == 0 || bounds_.empty()) return Step::end;
  if (std::exchange(begun_, true))
    return spec_.reversed ? merge_.seek_before(position_) : merge_.next();
  if (!spec_.reversed) return merge_.seek(bounds_.lower);
  return merge_.seek_before(bounds_.upper.empty() ? end_of_index_keys() : bounds_.upper);
}

// The end of a move that did not wait: false at the end of the bounds.
Result<bool> TabletIndexScan::stand(Step step) {
  if (step == Step::failed) {
    if (merge_.error().code == Errc::data_loss) shard_.watcher->section_damaged(tablet_);
    return std::unexpected(merge_.error());
  }
  if (step == Step::end) return false;
  return spec_.reversed ? merge_.key() >= Bytes(bounds_.lower)
                        : bounds_.upper.empty() || merge_.key() < Bytes(bounds_.upper);
}

// At least one step of it.
Async<void> TabletIndexScan::prepare_within(int64_t work_us) {
  const Clock& clock = shard_.runtime.clock.machine();
  const int64_t began_us = clock.boot_us();
  while (true) {
    prepare();
    if (!preparation_ || clock.boot_us() - began_us >= work_us) co_return;
    co_await yield_now();
  }
}

Async<Result<void>> TabletIndexScan::next(IndexBatch& batch, IndexBatchLimits limits) {
  if (is_outdated()) co_return std::unexpected(tablet_is_gone(tablet_));
  if (!version_) CO_TRY_VOID(pin());
  running_ = true;
  if (preparation_) co_await prepare_within(limits.work_us);
  Result<void> filled;
  if (!preparation_) filled = co_await fill(batch, limits);
  running_ = false;
  batch.passed = position_;
  // What an error leaves behind is not read further.
  if (std::exchange(must_close_, false) || !filled) close();
  co_return filled;
}

Async<Result<void>> TabletIndexScan::fill(IndexBatch& batch, const IndexBatchLimits& limits) {
  const Clock& clock = shard_.runtime.clock.machine();
  const int64_t began_us = clock.boot_us();
  int64_t slice_began_us = began_us;
  size_t bytes = 0;
  Candidate candidate;
  for (size_t candidates = 0; candidates < limits.candidates; ++candidates) {
    Step step = move();
    while (step == Step::blocked) {
      co_await load_blocks(merge_);
      step = merge_.resume();
    }
    CO_TRY(const bool found, stand(step));
    if (!found) {
      batch.done = true;
      break;
    }
    if (!test_.decode(merge_.key(), candidate)) {
      co_return fail(Errc::data_loss, "tablet {}: an entry of index '{}' is malformed: {}", tablet_,
                     index_.name, escape_bytes(merge_.key()));
    }
    IndexHit hit;
    Verdict verdict = judge(candidate, merge_.value(), hit);
    if (verdict == Verdict::unknown) {
      hit.cells.clear();
      CO_TRY(verdict, co_await judge_slowly(candidate, hit));
    }
    position_ = candidate.key;
    if (verdict == Verdict::hit) {
      hit.position = candidate.key;
      hit.row = candidate.row;
      bytes += hit.bytes();
      batch.hits.push_back(std::move(hit));
    }
    if (must_close_ || batch.hits.size() >= limits.hits || bytes >= limits.bytes) break;
    if (++looked_ % kCandidatesPerLook != 0) continue;
    const int64_t now_us = clock.boot_us();
    if (now_us - began_us >= limits.work_us) break;
    if (now_us - slice_began_us < kSliceUs) continue;
    co_await yield_now();
    slice_began_us = clock.boot_us();
  }
  co_return Result<void>{};
}

// Dead whatever else its column has.
bool TabletIndexScan::is_dead(const Candidate& candidate, Bytes entry_value) const {
  const std::optional<int64_t> expiry = index_entry_expiry(entry_value);
  if (!expiry) return false;
  if (*expiry != kNoExpiry) return *expiry < instant_.now_us;
  return fatal_age_us_ && saturating_sub(instant_.now_us, candidate.timestamp_us) > *fatal_age_us_;
}

void TabletIndexScan::aim(const Candidate& candidate) {
  if (!index_.qualifier) indexed_.front().qualifier = candidate.qualifier;
}

// One read of the row has the candidate's cell and its covered ones.
bool TabletIndexScan::is_one_read() const {
  if (spec_.whole_rows || spec_.explain) return false;
  return covered_.empty() || (newest_only() && index_.qualifier);
}

const NamedColumns& TabletIndexScan::read_columns() const {
  return is_one_read() && !covered_.empty() ? both_ : indexed_;
}

// A plain call, which most candidates need alone: unknown if a block is missing, or another read is
// needed.
Verdict TabletIndexScan::judge(const Candidate& candidate, Bytes entry_value, IndexHit& hit) {
  if (!test_.may_pass(candidate)) return Verdict::none;
  if (spec_.explain) return Verdict::unknown;
  if (is_dead(candidate, entry_value) || !test_.is_young(candidate.timestamp_us, instant_.now_us))
    return Verdict::none;
  if (!is_one_read()) return Verdict::unknown;
  aim(candidate);
  if (!rows_.read_at_once(candidate.row, read_columns(), versions(), hit.cells))
    return Verdict::unknown;
  return keep_indexed_first(candidate, hit.cells) ? Verdict::hit : Verdict::none;
}

// The candidate's cell is among these and is a hit: moves it to the front.
bool TabletIndexScan::keep_indexed_first(const Candidate& candidate, std::vector<HitCell>& cells) {
  const auto cell = std::ranges::find_if(cells, [&](const HitCell& one) {
    return one.timestamp_us == candidate.timestamp_us && one.family == index_.family &&
           one.qualifier == candidate.qualifier;
  });
  if (cell == cells.end() ||
      !test_.passes(candidate.row, candidate.qualifier, candidate.timestamp_us, cell->value,
                    instant_.now_us, scratch_key_) ||
      scratch_key_ != candidate.key) {
    return false;
  }
  std::rotate(cells.begin(), cell, std::next(cell));
  // Of an index of all versions the others of its column were read too.
  if (!newest_only()) cells.resize(1);
  return true;
}

// REQUIRES: judge() returned unknown.
Async<Result<Verdict>> TabletIndexScan::judge_slowly(const Candidate& candidate, IndexHit& hit) {
  aim(candidate);
  if (spec_.explain) {
    CO_TRY_VOID(co_await explain(candidate, hit));
    co_return hit.cells.empty() ? Verdict::none : Verdict::hit;
  }
  const TimeRange time{candidate.timestamp_us, saturating_add(candidate.timestamp_us, 1)};
  CO_TRY_VOID(
      co_await rows_.read_columns(candidate.row, read_columns(), versions(), hit.cells, time));
  if (!keep_indexed_first(candidate, hit.cells)) co_return Verdict::none;
  if (spec_.whole_rows) {
    CO_TRY(const bool first, co_await find_row(candidate, hit));
    co_return first ? Verdict::hit : Verdict::none;
  }
  if (!is_one_read()) CO_TRY_VOID(co_await add_covered(candidate, hit.cells));
  co_return Verdict::hit;
}

Async<Result<void>> TabletIndexScan::add_covered(const Candidate& candidate,
                                                 std::vector<HitCell>& cells) {
  if (covered_.empty()) co_return Result<void>{};
  co_return co_await rows_.read_columns(candidate.row, covered_, 1, cells);
}

Async<Result<bool>> TabletIndexScan::find_row(const Candidate& candidate, IndexHit& hit) {
  hit.cells.clear();
  CO_TRY(const std::string first, co_await first_of_row(candidate.row));
  if (first != candidate.key) co_return false;
  CO_TRY_VOID(co_await rows_.read_row(candidate.row, spec_.row, hit.cells));
  co_return !hit.cells.empty();
}

// The position of the row's first hit in reading order. Of rows with several candidates it is
// remembered.
Async<Result<std::string>> TabletIndexScan::first_of_row(const std::string& row) {
  if (const auto known = firsts_.find(row); known != firsts_.end()) co_return known->second;
  ReadSpec spec;
  spec.versions = versions();
  FirstHit first(test_, index_, instant_.now_us, spec_.reversed);
  const NamedColumns* columns = index_.qualifier ? &indexed_ : nullptr;
  CO_TRY_VOID(co_await rows_.visit_row(row, spec, columns, first));
  if (firsts_.size() >= kMostFirsts) firsts_.clear();
  firsts_.emplace(row, first.position());
  co_return first.position();
}

// A living cell that the index does not show. `newer`: its column has a newer living version.
void TabletIndexScan::note_hiding(HitCell& cell, bool newer) const {
  if (cell.note.dead) return;
  const bool passed_over = newest_only() && newer;
  if (!passed_over && test_.is_young(cell.timestamp_us, instant_.now_us)) return;
  cell.note.dead = true;
  cell.note.cause = passed_over ? DeathCause::not_newest : DeathCause::own_age;
}

// The candidate's cell with when and why it dies, or what hides it from the index; a hit has its
// covered cells too. Nothing if it does not meet the conditions.
Async<Result<void>> TabletIndexScan::explain(const Candidate& candidate, IndexHit& hit) {
  ReadSpec spec;
  spec.include_dead = spec.explain = true;
  std::vector<HitCell> cells;
  CO_TRY_VOID(co_await rows_.read_row(candidate.row, spec, cells, &indexed_));
  bool newer = false;
  for (HitCell& cell : cells) {
    if (cell.family != index_.family || cell.qualifier != candidate.qualifier) continue;
    if (cell.timestamp_us != candidate.timestamp_us) {
      newer |= cell.timestamp_us > candidate.timestamp_us && !cell.note.dead;
      continue;
    }
    const bool passes = test_.passes(candidate.row, candidate.qualifier, candidate.timestamp_us,
                                     cell.value, candidate.timestamp_us, scratch_key_);
    if (scratch_key_ != candidate.key) continue;  // another value of that timestamp
    if (!passes) co_return Result<void>{};
    note_hiding(cell, newer);
    const bool found = !cell.note.dead;
    hit.cells.push_back(std::move(cell));
    if (found) CO_TRY_VOID(co_await add_covered(candidate, hit.cells));
    co_return Result<void>{};
  }
  HitCell gone;
  gone.family = index_.family;
  gone.qualifier = candidate.qualifier;
  gone.timestamp_us = candidate.timestamp_us;
  gone.note.dead = true;
  gone.note.cause = DeathCause::replaced;
  hit.cells.push_back(std::move(gone));
  co_return Result<void>{};
}

}  // namespace

Result<std::unique_ptr<IndexScan>> open_index_scan(Tablet& tablet, const IndexReadSpec& spec) {
  if (tablet.rule_hold().holds_reads()) return std::unexpected(rule_is_changed(tablet.id()));
  const IndexSchema* index = tablet.schema().find_index(spec.index);
  if (index == nullptr || (spec.index_id != 0 && spec.index_id != index->id)) {
    return fail(Errc::not_found, "table '{}' has no index '{}'", tablet.schema().name,
                escape_bytes(spec.index));
  }
  TRY_VOID(validate_index_read(spec, *index, tablet.schema().granularity));
  IndexKey position;
  if (!spec.after.empty() && !parse_index_key(spec.after, *index, position)) {
    return fail(Errc::invalid_argument, "the position of {} bytes is none of index '{}'",
                spec.after.size(), index->name);
  }
  if (spec.explain && spec.whole_rows) {
    return fail(Errc::invalid_argument, "a read through index '{}' explains cells, not whole rows",
                index->name);
  }
  if (const Error* lost = tablet.lost_deletes()) return std::unexpected(*lost);
  auto scan = std::make_unique<TabletIndexScan>(tablet, tablet.facts(), spec, *index);
  TRY_VOID(scan->pin());
  scan->prepare();
  return scan;
}

}  // namespace cellar::engine
