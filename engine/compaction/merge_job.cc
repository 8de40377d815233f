#include "engine/compaction/merge_job.h"

#include <algorithm>
#include <tuple>

#include "engine/read/block_load.h"
#include "io/base/check.h"
#include "io/base/log.h"
#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

// An entry costs one more per this many value bytes.
constexpr size_t kValueBytesPerEntry = 512;

// Of deletes of the same rows the newest is sufficient.
void drop_repeated(std::vector<RangeTombstone>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const RangeTombstone& a, const RangeTombstone& b) {
    return std::tie(a.start, a.end, b.stamp) < std::tie(b.start, b.end, a.stamp);
  });
  const auto last = std::unique(ranges.begin(), ranges.end(),
                                [](const RangeTombstone& a, const RangeTombstone& b) {
                                  return a.start == b.start && a.end == b.end;
                                });
  ranges.erase(last, ranges.end());
}

}  // namespace

MergeJob::MergeJob(BlobStore& store, BlobIds& ids, MergePlan plan)
    : store_(store),
      ids_(ids),
      plan_(std::move(plan)),
      cut_off_(plan_.schema, plan_.tablet_gc_watermark, plan_.facts),
      judge_(plan_.schema, cut_off_.retention(), range_deletes_),
      indexes_(make_index_set(plan_.schema.indexes)) {
  judge_.want_deaths(cut_off_.exact());
  if (plan_.background != nullptr) work_.emplace(*plan_.background, plan_.kind);
  for (auto& input : plan_.inputs) merge_.add(std::move(input));
  // The deletes of a run's other tables are not among the inputs, and if versions count they decide
  // which versions are dead.
  CHECK(!plan_.part_of_run || !cut_off_.retention().any_counts(),
        "a table of tablet {} is merged without its run, whose versions count", plan_.tablet);
  if (!cut_off_.retention().any_counts()) drop_repeated(plan_.range_deletes);
  for (const RangeTombstone& range : plan_.range_deletes) range_deletes_.add(range);
  range_deletes_.build();
}

Async<Result<std::vector<TableMeta>>> MergeJob::run() {
  Result<void> merged = co_await merge();
  if (!merged) {
    co_await undo();
    co_return std::unexpected(std::move(merged).error());
  }
  co_return std::move(outputs_);
}

// Drops the range deletes that the outputs do not need.
void MergeJob::drop_range_deletes() {
  if (plan_.part_of_run) return;
  std::erase_if(plan_.range_deletes, [this](const RangeTombstone& range) {
    return !cut_off_.keeps_delete(range.stamp, false);
  });
}

Async<Result<void>> MergeJob::merge() {
  drop_range_deletes();
  if (!plan_.range_deletes.empty()) {
    CO_TRY_VOID(co_await open_writer());
    for (RangeTombstone& range : plan_.range_deletes) writer_->add_range_delete(std::move(range));
  }
  co_await next_slice();
  Step step = merge_.seek("");
  while (step != Step::end) {
    if (cancelled_)
      co_return fail(Errc::cancelled, "the merge of tablet {} was called off", plan_.tablet);
    if (step == Step::failed) co_return std::unexpected(merge_.error());
    if (step == Step::blocked) {
      end_slice();
      co_await load_blocks(merge_);
      co_await next_slice();
      step = merge_.resume();
      continue;
    }
    CO_TRY(step, merge_slice(step));
    if (step == Step::blocked) continue;
    end_slice();
    CO_TRY_VOID(co_await prepare_writer());
    if (step == Step::ready) co_await next_slice();
  }
  end_slice();
  if (writer_ != nullptr) CO_TRY_VOID(co_await close_writer());
  co_return Result<void>();
}

// Pauses if one is due, then starts the next slice.
Async<void> MergeJob::next_slice() {
  end_slice();
  if (plan_.pace != nullptr) {
    plan_.pace->progress(done(), stats_.bytes_out + (writer_ ? writer_->file_bytes() : 0));
    co_await plan_.pace->rest();
  }
  if (work_) {
    co_await work_->begin();
  } else {
    co_await yield_now();
  }
  if (plan_.pace != nullptr) plan_.pace->begin_slice();
  slice_left_ = kSliceEntries;
  look_at_ = slice_left_ - kEntriesPerClockLook;
}

double MergeJob::done() const {
  if (plan_.entries == 0) return 0;
  return static_cast<double>(stats_.entries_in) / static_cast<double>(plan_.entries);
}

void MergeJob::end_slice() {
  if (!work_) return;
  const int64_t took_us = work_->end();
  if (plan_.pace != nullptr) plan_.pace->end_slice(took_us);
}

bool MergeJob::slice_over() {
  if (slice_left_ > look_at_) return false;
  look_at_ = slice_left_ - kEntriesPerClockLook;
  return slice_left_ <= 0 || (work_ && work_->over());
}

// Processes entries until the slice is used up, the merge cannot continue, or the writer needs
// something.
Result<Step> MergeJob::merge_slice(Step step) {
  while (step == Step::ready && !slice_over()) {
    const Bytes key = merge_.key();
    if (!judge_.in_row(key)) {
      if (!judge_.begin_row(key, kMaxStamp, cut_off_.now_us(), cut_off_.counted_now_us()))
        return fail(Errc::data_loss, "'{}' is no entry key", escape_bytes(key));
      cut_ = writer_ != nullptr && writer_->is_full(plan_.table_bytes);
      judged_ = false;
    }
    if (!judged_) {
      TRY(keep_, keep(key));
      judged_ = true;
      ++stats_.entries_in;
      if (!keep_) stats_.bytes_left += key.size() + merge_.value().size();
    }
    if (keep_) {
      if (cut_ || writer_ == nullptr || writer_->wants_flush()) return step;
      writer_->add(key, tombstone_ ? Bytes(tombstone_value_) : merge_.value());
      ++stats_.entries_out;
      stats_.tombstones_out += tombstone_;
    }
    slice_left_ -= 1 + static_cast<int64_t>(merge_.value().size() / kValueBytesPerEntry);
    judged_ = false;
    step = merge_.next();
  }
  return step;
}

// Decides whether the entry is written, and in what form.
Result<bool> MergeJob::keep(Bytes key) {
  const CellState fate = judge_.judge(key, merge_.value());
  tombstone_ = false;
  switch (fate) {
    case CellState::marker:
    case CellState::redundant:
      return cut_off_.keeps_delete(judge_.stamp(), fate == CellState::redundant);
    case CellState::token:
      return cut_off_.keeps_token(judge_.token_until_us());
    case CellState::orphaned:
      ++stats_.cells_left;
      return false;
    case CellState::unseen:
      UNREACHABLE("a merge reads at the last stamp");
    case CellState::malformed:
      return fail(Errc::data_loss, "entry '{}' is malformed", escape_bytes(key));
    default:
      break;
  }
  const CellValue& value = judge_.value();
  DropPolicy::Verdict verdict;
  if (judge_.counts()) {
    const bool clean = judge_.clean();
    verdict = cut_off_.counted_cell(judge_.family_retention(), fate, clean,
                                    clean ? kNever : judge_.died());
  } else {
    verdict = cut_off_.single_cell(fate, judge_.timestamp_us(), value.expire_at_us != kNoExpiry);
  }
  tombstone_ = verdict == DropPolicy::Verdict::tombstone;
  if (tombstone_) {
    tombstone_value_.clear();
    append_tombstone(tombstone_value_, value.expire_at_us);
    const size_t before = merge_.value().size();
    stats_.bytes_left += before - std::min(before, tombstone_value_.size());
  }
  if (verdict != DropPolicy::Verdict::drop) return true;
  ++stats_.cells_left;
  return false;
}

// Completes the I/O that the writer waits for, so that the next slice can continue.
Async<Result<void>> MergeJob::prepare_writer() {
  if (cut_ && judged_ && keep_) {
    CO_TRY_VOID(co_await close_writer());
    cut_ = false;
  }
  if (writer_ == nullptr && judged_ && keep_) CO_TRY_VOID(co_await open_writer());
  if (writer_ != nullptr && writer_->wants_flush()) CO_TRY_VOID(co_await writer_->flush());
  co_return Result<void>();
}

Async<Result<void>> MergeJob::open_writer() {
  TableWriterOptions options;
  CO_TRY(options.blob, ids_.next_blob_id());
  options.table = plan_.schema.id;
  options.tablet = plan_.tablet;
  options.tablet_start = plan_.tablet_start;
  options.tablet_end = plan_.tablet_end;
  options.run = plan_.run;
  options.gc_watermark = std::max(cut_off_.gc_watermark(), plan_.inputs_gc_watermark);
  options.compression = plan_.compression.value_or(plan_.schema.options.compression);
  options.block_bytes = plan_.schema.options.block_bytes;
  options.part_bytes = plan_.part_bytes;
  options.indexes = indexes_;
  options.now_us = saturating_sub(plan_.facts.now_us, plan_.facts.margin_us);
  CO_TRY(auto blob, co_await store_.create(options.blob, 0, plan_.io_class));
  writer_ = std::make_unique<TableWriter>(std::move(options), std::move(blob));
  co_return Result<void>();
}

Async<Result<void>> MergeJob::close_writer() {
  Background::Work* work = work_ ? &*work_ : nullptr;
  CO_TRY(TableMeta meta, co_await writer_->finish(work));
  writer_.reset();
  stats_.bytes_out += meta.file_bytes;
  outputs_.push_back(std::move(meta));
  co_return Result<void>();
}

// Removes all outputs. A blob that cannot be removed now is later found as one that no manifest
// names.
Async<void> MergeJob::undo() {
  if (writer_ != nullptr) {
    Result<void> abandoned = co_await writer_->abandon();
    if (!abandoned)
      log_warn("compaction", "abandon tablet={} error={}", plan_.tablet,
               abandoned.error().to_string());
    writer_.reset();
  }
  for (const TableMeta& output : outputs_) {
    Result<void> removed = co_await store_.remove(output.blob);
    if (!removed)
      log_warn("compaction", "remove blob={} error={}", output.blob, removed.error().to_string());
  }
  outputs_.clear();
}

}  // namespace cellar::engine
