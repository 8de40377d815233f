#include "engine/lookup/tablet_index_scan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/iter/merging_iterator.h"
#include "engine/lookup/candidate.h"
#include "engine/lookup/pinned_rows.h"
#include "engine/model/fatal_age.h"
#include "engine/read/block_load.h"
#include "engine/sstable/index_section.h"
#include "engine/tablet/index_readiness.h"
#include "engine/tablet/refusals.h"
#include "io/base/saturating.h"
#include "io/loop/event.h"

namespace cellar::engine {
namespace {

// A slice of work between two yields. Checked at every kCandidatesPerLook-th candidate.
constexpr int64_t kSliceUs = 300;
constexpr size_t kCandidatesPerLook = 16;

// Greater than every entry's key: its first segment is shorter, its numbers too.
const std::string& end_of_keys() {
  static const std::string end(kMaxQualifierBytes + 1, '\xff');
  return end;
}

Error is_not_ready(const IndexSchema& index, const IndexState& state) {
  return Error(Errc::failed_precondition,
               fmt::format("index '{}' is being built: {:.0f} % of its entries are there",
                           index.name, 100 * state.share_done()));
}

class TabletIndexScan final : public IndexScan {
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
  }

  // Pins the newest version and makes the iterators.
  Result<void> open();
  Async<Result<void>> next(IndexBatch& batch, IndexBatchLimits limits) override;

 private:
  void note_columns();
  Result<void> check_tables() const;
  void add_sources();
  bool is_wanted(const IndexSection& section) const;
  void add_tables(const std::vector<const TabletTable*>& unread);
  bool is_outdated() const {
    return facts_->newest == nullptr || facts_->reads_held ||
           facts_->schema_version != schema_->value.version;
  }
  bool holds_too_much() const;
  void close();
  Async<Result<Step>> step();
  bool is_dead(const Candidate& candidate, Bytes entry_value) const;
  Async<Result<void>> take(const Candidate& candidate, Bytes entry_value, IndexBatch& batch);
  Async<Result<bool>> find_hit(const Candidate& candidate, IndexHit& hit);
  Async<Result<void>> add_covered(const Candidate& candidate, std::vector<HitCell>& cells);
  Async<Result<bool>> is_first_of_row(const Candidate& candidate);
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
  PinnedRows rows_;
  std::optional<int64_t> fatal_age_us_;  // of the family's rule
  NamedColumns indexed_;                 // the candidate's column
  NamedColumns covered_;                 // those of families that exist
  NamedColumns both_;

  Ref<const Version> version_;  // null: not open
  PinnedRows::Instant instant_;
  IndexBounds bounds_;
  MergingIterator merge_;
  bool begun_ = false;    // the merge stands at a candidate
  std::string position_;  // everything up to here was taken
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

Result<void> TabletIndexScan::check_tables() const {
  const IndexState state = index_state_of(*version_, index_, instant_.now_us);
  for (const TabletRun& run : version_->runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (table->slice().table().is_lost()) return std::unexpected(*table->damage());
    }
  }
  if (!state.ready) return std::unexpected(is_not_ready(index_, state));
  return {};
}

Result<void> TabletIndexScan::open() {
  version_ = Ref<const Version>(facts_->newest);
  instant_.stamp = facts_->visible;
  instant_.now_us =
      std::max({shard_.runtime.clock.ask_us(), static_cast<int64_t>(instant_.stamp.value() / 1000),
                schema_->retention.not_before_us()});
  if (auto ready = check_tables(); !ready) {
    version_ = nullptr;
    return ready;
  }
  rows_.reset(version_.get(), instant_);
  spec_.after = position_;
  bounds_ = bounds_of(spec_, index_);
  begun_ = false;
  add_sources();
  return {};
}

void TabletIndexScan::add_sources() {
  for (const Ref<TabletMemtable>& memtable : version_->memtables) {
    const EntryTree* entries = memtable->entries.index_entries(index_.id);
    if (!entries->empty()) merge_.add(std::make_unique<EntryTree::Iterator>(*entries));
  }
  add_tables(unread_tables(*version_, schema_->retention, instant_.now_us).tables);
}

void TabletIndexScan::add_tables(const std::vector<const TabletTable*>& unread) {
  for (const TabletRun& run : version_->runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      const IndexSection& section = *table->meta().section_of(index_.id);
      if (section.entries == 0 || !is_wanted(section)) continue;
      if (std::ranges::find(unread, table.get()) != unread.end()) continue;
      merge_.add(std::make_unique<SectionIterator>(table->slice().table(), section));
    }
  }
}

// Some entry may meet the conditions on time.
bool TabletIndexScan::is_wanted(const IndexSection& section) const {
  if (spec_.explain) return true;
  if (!test_.is_young(section.newest_us, instant_.now_us)) return false;
  if (!spec_.time) return true;
  return section.newest_us >= spec_.time->start_us &&
         (section.oldest_us < spec_.time->end_us || spec_.time->end_us == kMaxTimestampUs);
}

// What it pins is more than all cursors of the shard may.
bool TabletIndexScan::holds_too_much() const {
  if (shard_.memory.gauge.pinned_bytes <= shard_.memory.pinned_bound()) return false;
  return std::ranges::any_of(version_->memtables,
                             [](const auto& memtable) { return memtable->flushed; });
}

void TabletIndexScan::close() {
  merge_.clear();
  rows_.reset(nullptr, {});
  version_ = nullptr;
}

// The next candidate's entry, within the bounds.
Async<Result<Step>> TabletIndexScan::step() {
  Step step = Step::end;
  if (merge_.sources() == 0 || bounds_.empty()) co_return Step::end;
  if (!begun_ && spec_.reversed) {
    step = merge_.seek_before(bounds_.upper.empty() ? end_of_keys() : bounds_.upper);
  } else if (!begun_) {
    step = merge_.seek(bounds_.lower);
  } else if (spec_.reversed) {
    step = merge_.seek_before(position_);
  } else {
    step = merge_.next();
  }
  begun_ = true;
  while (step == Step::blocked) {
    co_await load_blocks(merge_);
    step = merge_.resume();
  }
  if (step == Step::failed) {
    if (merge_.error().code == Errc::data_loss) shard_.watcher->section_damaged(tablet_);
    co_return std::unexpected(merge_.error());
  }
  if (step == Step::end) co_return step;
  const bool outside = spec_.reversed ? merge_.key() < Bytes(bounds_.lower)
                                      : !bounds_.upper.empty() && merge_.key() >= bounds_.upper;
  co_return outside ? Step::end : Step::ready;
}

Async<Result<void>> TabletIndexScan::next(IndexBatch& batch, IndexBatchLimits limits) {
  if (is_outdated()) co_return std::unexpected(tablet_is_gone(tablet_));
  if (version_ && holds_too_much()) close();
  if (!version_) CO_TRY_VOID(open());
  const Clock& clock = shard_.runtime.clock.machine();
  int64_t began_us = clock.boot_us();
  size_t bytes = 0;
  Candidate candidate;
  for (size_t candidates = 0; candidates < limits.candidates; ++candidates) {
    CO_TRY(const Step found, co_await step());
    if (found == Step::end) {
      batch.done = true;
      break;
    }
    if (!test_.decode(merge_.key(), candidate)) {
      co_return fail(Errc::data_loss, "tablet {}: an entry of index '{}' is malformed: {}", tablet_,
                     index_.name, escape_bytes(merge_.key()));
    }
    const size_t hits = batch.hits.size();
    const std::string entry_value(merge_.value());
    CO_TRY_VOID(co_await take(candidate, entry_value, batch));
    position_ = candidate.key;
    if (batch.hits.size() > hits) bytes += batch.hits.back().bytes();
    if (batch.hits.size() >= limits.hits || bytes >= limits.bytes) break;
    if (++looked_ % kCandidatesPerLook == 0 && clock.boot_us() - began_us >= kSliceUs) {
      co_await yield_now();
      began_us = clock.boot_us();
    }
  }
  batch.passed = position_;
  co_return Result<void>{};
}

// Dead whatever else its column has.
bool TabletIndexScan::is_dead(const Candidate& candidate, Bytes entry_value) const {
  const std::optional<int64_t> expiry = index_entry_expiry(entry_value);
  if (!expiry) return false;
  if (*expiry != kNoExpiry) return *expiry < instant_.now_us;
  return fatal_age_us_ && saturating_sub(instant_.now_us, candidate.timestamp_us) > *fatal_age_us_;
}

Async<Result<void>> TabletIndexScan::take(const Candidate& candidate, Bytes entry_value,
                                          IndexBatch& batch) {
  if (!test_.may_pass(candidate)) co_return Result<void>{};
  IndexHit hit;
  hit.position = candidate.key;
  hit.row = candidate.row;
  bool found = false;
  if (spec_.explain) {
    CO_TRY_VOID(co_await explain(candidate, hit));
    found = !hit.cells.empty();
  } else if (!is_dead(candidate, entry_value) &&
             test_.is_young(candidate.timestamp_us, instant_.now_us)) {
    CO_TRY(found, co_await find_hit(candidate, hit));
  }
  if (found) batch.hits.push_back(std::move(hit));
  co_return Result<void>{};
}

void TabletIndexScan::aim(const Candidate& candidate) {
  if (!index_.qualifier) indexed_.front().qualifier = candidate.qualifier;
}

Async<Result<bool>> TabletIndexScan::find_hit(const Candidate& candidate, IndexHit& hit) {
  aim(candidate);
  std::vector<HitCell>& cells = hit.cells;
  const bool at_once = newest_only() && index_.qualifier && !spec_.whole_rows;
  CO_TRY_VOID(co_await rows_.read_columns(candidate.row, at_once ? both_ : indexed_,
                                          newest_only() ? 1 : 0, cells));
  const auto is_it = [&](const HitCell& cell) {
    return cell.timestamp_us == candidate.timestamp_us && cell.family == index_.family &&
           cell.qualifier == candidate.qualifier;
  };
  const auto cell = std::ranges::find_if(cells, is_it);
  if (cell == cells.end() ||
      !test_.passes(candidate.row, candidate.qualifier, candidate.timestamp_us, cell->value,
                    instant_.now_us, scratch_key_) ||
      scratch_key_ != candidate.key) {
    co_return false;
  }
  if (spec_.whole_rows) co_return co_await find_row(candidate, hit);
  if (at_once) {
    std::rotate(cells.begin(), cell, std::next(cell));  // before the covered ones
    co_return true;
  }
  HitCell found = std::move(*cell);
  cells.clear();
  cells.push_back(std::move(found));
  CO_TRY_VOID(co_await add_covered(candidate, cells));
  co_return true;
}

Async<Result<void>> TabletIndexScan::add_covered(const Candidate& candidate,
                                                 std::vector<HitCell>& cells) {
  if (covered_.empty()) co_return Result<void>{};
  co_return co_await rows_.read_columns(candidate.row, covered_, 1, cells);
}

Async<Result<bool>> TabletIndexScan::find_row(const Candidate& candidate, IndexHit& hit) {
  hit.cells.clear();
  CO_TRY(const bool first, co_await is_first_of_row(candidate));
  if (!first) co_return false;
  CO_TRY_VOID(co_await rows_.read_row(candidate.row, spec_.row, hit.cells));
  co_return !hit.cells.empty();
}

// No other hit of the row is before the candidate in reading order.
Async<Result<bool>> TabletIndexScan::is_first_of_row(const Candidate& candidate) {
  if (newest_only() && index_.qualifier) co_return true;
  std::vector<HitCell> cells;
  ReadSpec all;
  all.versions = newest_only() ? 1 : 0;
  if (index_.qualifier) {
    CO_TRY_VOID(co_await rows_.read_columns(candidate.row, indexed_, all.versions, cells));
  } else {
    CO_TRY_VOID(co_await rows_.read_row(candidate.row, all, cells));
  }
  for (const HitCell& cell : cells) {
    if (cell.family != index_.family) continue;
    if (!test_.passes(candidate.row, cell.qualifier, cell.timestamp_us, cell.value, instant_.now_us,
                      scratch_key_)) {
      continue;
    }
    if (spec_.reversed ? scratch_key_ > candidate.key : scratch_key_ < candidate.key)
      co_return false;
  }
  co_return true;
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
  CO_TRY_VOID(co_await rows_.read_row(candidate.row, spec, cells));
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
  if (index == nullptr) {
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
  TRY_VOID(scan->open());
  return scan;
}

}  // namespace cellar::engine
