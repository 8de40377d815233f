#include "engine/lookup/index_check_step.h"

#include <algorithm>
#include <utility>

#include "engine/iter/merging_iterator.h"
#include "engine/lookup/candidate.h"
#include "engine/lookup/entry_preparation.h"
#include "engine/lookup/tablet_index_scan.h"
#include "engine/read/block_load.h"
#include "engine/read/scan.h"
#include "engine/sstable/index_section.h"
#include "engine/tablet/refusals.h"

namespace cellar::engine {
namespace {

constexpr size_t kRowsPerStep = 256;
constexpr size_t kHitsPerStep = 256;
// The moments at which a difference must be there.
constexpr int kLooks = 3;

// A cell that the index must have.
struct WantedCell {
  std::string row;
  std::string key;  // of its entry
};

// Collects the cells that the index must have.
class Wanted final : public CellSink {
 public:
  Wanted(const IndexSchema& index, int64_t now_us, std::vector<WantedCell>& to)
      : index_(index), test_(everything_, index), now_us_(now_us), to_(to) {}

  Flow cell(const CellView& cell) override {
    if (cell.family != index_.family) return Flow::more;
    if (index_.qualifier && cell.qualifier != *index_.qualifier) return Flow::more;
    if (test_.passes(cell.row, cell.qualifier, cell.timestamp_us, cell.value, now_us_, key_))
      to_.push_back({std::string(cell.row), key_});
    return Flow::more;
  }
  Flow end_row(Bytes /*row*/) override {
    ++rows;
    return Flow::more;
  }
  uint64_t rows = 0;

 private:
  const IndexSchema& index_;
  const IndexReadSpec everything_ = {};
  CandidateTest test_;
  const int64_t now_us_;
  std::vector<WantedCell>& to_;
  std::string key_;
};

Async<Result<void>> run(ScanCursor& cursor, CellSink& sink) {
  while (true) {
    const ScanStep step = cursor.run(sink);
    if (step == ScanStep::done) co_return Result<void>{};
    if (step == ScanStep::failed) co_return std::unexpected(cursor.error());
    if (step == ScanStep::blocked) {
      co_await cursor.load();
    } else {
      co_await yield_now();
    }
  }
}

// Finds entries in the present version of the tablet.
class EntryFinder {
 public:
  EntryFinder(Tablet& tablet, uint64_t index) : tablet_(tablet), index_(index) {}

  Async<Result<bool>> has(const std::string& key) {
    EntryPreparation preparation(tablet_.pin());
    while (!preparation.step()) co_await yield_now();
    if (version_.get() != &tablet_.version()) open();
    Step step = merge_.sources() == 0 ? Step::end : merge_.seek(key);
    while (step == Step::blocked) {
      co_await load_blocks(merge_);
      step = merge_.resume();
      if (step == Step::failed && merge_.error().code == Errc::data_loss)
        tablet_.shard().watcher->section_damaged(tablet_.id());
    }
    if (step == Step::failed) co_return std::unexpected(merge_.error());
    const bool found = step == Step::ready && merge_.key() == key;
    co_return found;
  }

 private:
  void open() {
    merge_.clear();
    version_ = tablet_.pin();
    for (const Ref<TabletMemtable>& memtable : version_->memtables) {
      if (const EntryTree* entries = memtable->entries.index_entries(index_))
        merge_.add(std::make_unique<EntryTree::Iterator>(*entries));
    }
    for (const TabletRun& run : version_->runs) {
      for (const Ref<TabletTable>& table : run.tables) {
        const IndexSection* section = table->meta().section_of(index_);
        if (section != nullptr && section->entries > 0)
          merge_.add(std::make_unique<SectionIterator>(table->slice().table(), *section));
      }
    }
  }

  Tablet& tablet_;
  const uint64_t index_;
  Ref<const Version> version_;
  MergingIterator merge_;
};

void note_difference(IndexCheckReport& report, const std::string& row) {
  if (report.samples.size() < kMaxIndexCheckSamples) report.samples.push_back(row);
}

// The cells of a row, or of kRowsPerStep rows from it on, that the index must have.
Async<Result<std::vector<WantedCell>>> wanted_cells(Tablet& tablet, const IndexSchema& index,
                                                    KeyRange rows, uint64_t row_limit,
                                                    uint64_t& seen, std::string& last_row) {
  ReadSpec spec;
  spec.rows.add(std::move(rows));
  spec.rows.normalize();
  spec.row_limit = row_limit;
  if (index.match == IndexMatch::newest) spec.versions = 1;
  CO_TRY(const auto cursor, tablet.open_scan(spec));
  std::vector<WantedCell> wanted;
  Wanted sink(index, tablet.shard().runtime.clock.now_us(), wanted);
  CO_TRY_VOID(co_await run(*cursor, sink));
  seen = sink.rows;
  last_row = cursor->last_row();
  co_return wanted;
}

// Whether the row still has the cell, so that the index must have this entry.
Async<Result<bool>> still_wanted(Tablet& tablet, const IndexSchema& index, const std::string& row,
                                 const std::string& key) {
  uint64_t seen = 0;
  std::string last;
  CO_TRY(const auto wanted,
         co_await wanted_cells(tablet, index, KeyRange::single(row), 0, seen, last));
  co_return std::ranges::any_of(wanted, [&](const WantedCell& cell) { return cell.key == key; });
}

Async<Result<bool>> is_missing(Tablet& tablet, const IndexSchema& index, EntryFinder& finder,
                               const WantedCell& cell) {
  for (int look = 0; look < kLooks; ++look) {
    CO_TRY(const bool found, co_await finder.has(cell.key));
    if (found) co_return false;
    CO_TRY(const bool wanted, co_await still_wanted(tablet, index, cell.row, cell.key));
    if (!wanted) co_return false;
  }
  co_return true;
}

Async<Result<void>> check_forwards(Tablet& tablet, const IndexSchema& index, IndexCheckPlace& place,
                                   IndexCheckReport& report) {
  uint64_t seen = 0;
  std::string last_row;
  CO_TRY(const auto wanted,
         co_await wanted_cells(tablet, index, {place.row, ""}, kRowsPerStep, seen, last_row));
  report.rows += seen;
  EntryFinder finder(tablet, index.id);
  for (const WantedCell& cell : wanted) {
    ++report.cells;
    CO_TRY(const bool missing, co_await is_missing(tablet, index, finder, cell));
    if (!missing) continue;
    ++report.missing;
    note_difference(report, cell.row);
  }
  if (seen < kRowsPerStep) {
    place.backwards = true;
  } else {
    place.row = last_row + '\0';
  }
  co_return Result<void>{};
}

// A read through the index gives the hit at `position`.
Async<Result<bool>> is_given(Tablet& tablet, const IndexCheckPlace& place,
                             const std::string& position, const std::string& row) {
  IndexReadSpec spec;
  spec.index = place.index;
  spec.rows = RowSet();
  spec.rows.set_single(row);
  spec.after = place.position;
  CO_TRY(const auto scan, open_index_scan(tablet, spec));
  IndexBatch batch;
  while (!batch.done && batch.hits.empty()) CO_TRY_VOID(co_await scan->next(batch, {.hits = 1}));
  co_return !batch.hits.empty() && batch.hits.front().position == position;
}

Async<Result<bool>> is_wrong(Tablet& tablet, const IndexSchema& index, const IndexCheckPlace& place,
                             const IndexHit& hit) {
  for (int look = 0; look < kLooks; ++look) {
    CO_TRY(const bool wanted, co_await still_wanted(tablet, index, hit.row, hit.position));
    if (wanted) co_return false;
    CO_TRY(const bool given, co_await is_given(tablet, place, hit.position, hit.row));
    if (!given) co_return false;
  }
  co_return true;
}

Async<Result<void>> check_backwards(Tablet& tablet, const IndexSchema& index,
                                    IndexCheckPlace& place, IndexCheckReport& report) {
  IndexReadSpec spec;
  spec.index = place.index;
  spec.after = place.position;
  CO_TRY(const auto scan, open_index_scan(tablet, spec));
  IndexBatch batch;
  CO_TRY_VOID(co_await scan->next(batch, {.hits = kHitsPerStep}));
  for (const IndexHit& hit : batch.hits) {
    ++report.hits;
    CO_TRY(const bool wrong, co_await is_wrong(tablet, index, place, hit));
    if (!wrong) continue;
    ++report.wrong;
    note_difference(report, hit.row);
  }
  if (!batch.passed.empty()) place.position = batch.passed;
  place.done = batch.done;
  co_return Result<void>{};
}

}  // namespace

Async<Result<void>> check_index_step(Tablet& tablet, IndexCheckPlace& place,
                                     IndexCheckReport& report) {
  // Refuses what a read through the index refuses.
  IndexReadSpec spec;
  spec.index = place.index;
  CO_TRY(const auto scan, open_index_scan(tablet, spec));
  const IndexSchema index = *tablet.schema().find_index(place.index);
  const uint64_t version = tablet.schema().version;
  IndexCheckReport found = report;
  Result<void> checked;
  if (place.backwards) {
    checked = co_await check_backwards(tablet, index, place, found);
  } else {
    checked = co_await check_forwards(tablet, index, place, found);
  }
  CO_TRY_VOID(checked);
  if (tablet.schema().version != version) co_return std::unexpected(tablet_is_gone(tablet.id()));
  report = std::move(found);
  co_return checked;
}

}  // namespace cellar::engine
