#include "engine/read/scan.h"

#include <algorithm>
#include <utility>

#include "engine/read/block_load.h"
#include "engine/retention/dead_table.h"
#include "io/base/check.h"

namespace cellar::engine {
namespace {

// The cost of a seek per source, in steps.
constexpr uint32_t kStepsPerSeek = 8;
// An entry costs one more per this many value bytes.
constexpr size_t kValueBytesPerEntry = 1024;
constexpr int64_t kSeekCost = 8;

// The least key after the current one at which the filter may want something.
std::string next_wanted(const CompiledFilter& filter, ColumnVerdict verdict,
                        const CellJudge& judge) {
  std::string target;
  switch (verdict) {
    case ColumnVerdict::skip_column:
      append_column_end(target, judge.column_prefix());
      return target;
    case ColumnVerdict::skip_to_start:
      append_column_prefix(target, judge.row(), judge.family(), filter.range_start());
      return target;
    case ColumnVerdict::skip_family:
      append_family_end(target, judge.row_prefix(), judge.family());
      return target;
    case ColumnVerdict::skip_to_family:
      append_family_start(target, judge.row_prefix(), filter.range_family());
      return target;
    case ColumnVerdict::skip_row:
      return row_prefix_end(judge.row_prefix());
    case ColumnVerdict::take:
      break;
  }
  UNREACHABLE("a cell that is wanted is passed over");
}

}  // namespace

ScanStep ScanCursor::run(CellSink& sink, uint32_t entries) {
  if (error_) return ScanStep::failed;
  if (place_ == Place::finished) return ScanStep::done;
  slice_left_ = entries;
  look_at_ = std::max<int64_t>(0, slice_left_ - kEntriesPerLook);
  slice_began_us_ = 0;
  leave_.reset();
  stopped_ = false;
  ends_with_row_ = !stands_between() && (is_outdated() || ends_asked_);
  if (newest_read_) return run_newest(sink);
  return run_merged(sink);
}

ScanStep ScanCursor::run_merged(CellSink& sink) {
  if (stands_between() && setup_.pin && setup_.pin->is_stale()) renew_sources();
  const bool notes = setup_.watch != nullptr || with_expiry_;
  return notes ? run_as<true>(sink) : run_as<false>(sink);
}

ScanStep ScanCursor::run_newest(CellSink& sink) {
  if (!newest_found_) {
    const std::optional<ScanStep> step = find_newest();
    if (step) return *step;
    if (!newest_found_) return error_ ? ScanStep::failed : run_merged(sink);
  }
  return give_newest(sink);
}

// Nothing: it is found, or newest_read_ does not suit.
std::optional<ScanStep> ScanCursor::find_newest() {
  auto outcome = NewestRead::Outcome::unfit;
  if (place_ == Place::moving) {
    place_ = Place::fresh;
    outcome = newest_read_->resume();
  } else {
    renew_stamp();
    const NamedColumns* columns =
        wanted_columns_.every_column ? row_columns_.of(*setup_.sources) : wanted_columns_.columns;
    if (columns != nullptr && !is_row_covered(*setup_.sources, newest_row_, stamp_)) {
      newest_tried_ = true;
      outcome = newest_read_->run({.columns = *columns,
                                   .every_column = wanted_columns_.every_column,
                                   .versions = wanted_columns_.versions,
                                   .sources = *setup_.sources,
                                   .row = newest_row_,
                                   .stamp = stamp_,
                                   .now_us = now_us_,
                                   .must_fit = setup_.started && !wanted_columns_.every_column});
    }
  }
  if (outcome == NewestRead::Outcome::blocked) {
    place_ = Place::moving;
    return ScanStep::blocked;
  }
  entries_read_ += newest_read_->entries_read();
  if (wanted_columns_.every_column && newest_tried_ && setup_.stops != nullptr && !counts_runs_)
    setup_.stops->note(outcome == NewestRead::Outcome::done && newest_read_->stopped());
  newest_found_ = outcome == NewestRead::Outcome::done && !counts_runs_;
  if (newest_found_) {
    newest_read_->close();
    return std::nullopt;
  }
  const uint32_t runs_opened = newest_read_->runs_opened();
  newest_read_.reset();
  // The rest of a row that was found before: nothing else can give it.
  if (setup_.started && given_before_ != 0) {
    error_ = Error{Errc::data_loss,
                   fmt::format("the rest of row '{}' cannot be read", escape_bytes(newest_row_))};
    return std::nullopt;
  }
  open_sources();
  if (outcome == NewestRead::Outcome::done) runs_.opened = runs_opened;
  return std::nullopt;
}

ScanStep ScanCursor::give_newest(CellSink& sink) {
  begun_ = false;
  while (given_before_ < newest_read_->cells()) {
    const bool pause = sink.cell(newest_read_->cell(given_before_++)) == CellSink::Flow::pause;
    row_open_ = given_before_ < newest_read_->cells();
    if (pause && row_open_) return ScanStep::paused;
  }
  if (given_before_ != 0) {
    ++rows_;
    sink.end_row(newest_row_);
  }
  newest_read_.reset();
  place_ = Place::finished;
  return ScanStep::done;
}

template <bool kNotes>
ScanStep ScanCursor::run_as(CellSink& sink) {
  Step step = Step::end;
  if (!filtering_ || filter_go_on(sink)) {
    step = ends_with_row_ && stands_between() ? yield_between(stood_) : go_on();
  }
  while (!stopped_) {
    if (step == Step::blocked) {
      place_ = Place::moving;
      return ScanStep::blocked;
    }
    if (step == Step::failed) {
      error_ = merge_.error();
      return ScanStep::failed;
    }
    step = take<kNotes>(step, sink);
  }
  if (error_) return ScanStep::failed;
  return place_ == Place::finished ? ScanStep::done : *leave_;
}

// Checks whether the slice is used up, by entries or by time.
bool ScanCursor::look_at_slice() {
  if (slice_left_ <= 0) return true;
  look_at_ = std::max<int64_t>(0, slice_left_ - kEntriesPerLook);
  if (clock_ == nullptr) return false;
  const int64_t now_us = clock_->boot_us();
  if (slice_began_us_ == 0) slice_began_us_ = now_us;
  return now_us - slice_began_us_ >= kSliceUs;
}

// The first move of a run().
Step ScanCursor::go_on() {
  switch (place_) {
    case Place::fresh:
      return place_fresh();
    case Place::in_row:
      return merge_.next();
    case Place::ahead:
      return Step::ready;
    case Place::moving:
      return merge_.resume();
    case Place::between:
      return place_again();
    case Place::finished:
      break;
  }
  UNREACHABLE("a finished cursor moves");
}

Step ScanCursor::place_fresh() {
  renew_stamp();
  ranges_.enter();
  const ScanBounds::Range range = ranges_.current();
  return reversed_ ? seek(Aim::row_before, range.upper) : seek(Aim::entry, range.lower);
}

// Continues between two rows or two ranges.
Step ScanCursor::place_again() {
  if (reversed_) {
    renew_stamp();
    const Bytes upper = ranges_.current().upper;
    const bool entered = row_prefix_.size() != 0 && row_prefix_.view() < upper;
    return seek(Aim::row_before, entered ? row_prefix_.view() : upper);
  }
  if (visible() == stamp_ && !renewed_) {
    renew_now();
    return stood_;
  }
  renewed_ = false;
  renew_stamp();
  const Bytes lower = ranges_.current().lower;
  const bool entered = row_prefix_.size() != 0 && row_prefix_.view() >= lower;
  return entered ? seek(Aim::entry, row_prefix_end(row_prefix_.view())) : seek(Aim::entry, lower);
}

// Ends the slice while no row is open; `step` is the state of merge_.
Step ScanCursor::yield_between(Step step) {
  stood_ = step;
  place_ = Place::between;
  leave(ScanStep::yielded);
  return step;
}

Step ScanCursor::seek(Aim aim, Bytes key) {
  aim_ = aim;
  ranges_.seeking();
  slice_left_ -= kSeekCost;
  target_.assign(key);
  return aim == Aim::row_before ? merge_.seek_before(target_.view()) : merge_.seek(target_.view());
}

Step ScanCursor::skip_to(Bytes key) {
  aim_ = Aim::entry;
  slice_left_ -= kSeekCost;
  target_.assign(key);
  return merge_.advance_to(target_.view());
}

uint32_t ScanCursor::steps_before_seek() const {
  return kStepsPerSeek * static_cast<uint32_t>(std::max<size_t>(1, merge_.sources()));
}

// Processes the result of a move and makes the next move.
template <bool kNotes>
Step ScanCursor::take(Step step, CellSink& sink) {
  if (ends_with_row_ && !row_open_ && !begun_) return yield_between(step);
  if (aim_ == Aim::row_before) return take_row_before(step);
  aim_ = Aim::entry;
  if (step == Step::ready && row_open_ && !pause_asked_ && judge_.in_column(merge_.key()))
    return take_entry<kNotes>(sink, true);
  const bool here = step == Step::ready && row_open_ && judge_.in_row(merge_.key());
  if (row_open_ && !here && !close_row(sink)) {
    stood_ = step;
    place_ = rows_ == row_limit_ && rows_ != 0 ? Place::finished : Place::between;
    stopped_ = true;
    return step;
  }
  if (here && pause_asked_) {
    pause_asked_ = false;
    place_ = Place::ahead;
    leave(ScanStep::paused);
    return step;
  }
  if (here) return take_entry<kNotes>(sink, false);
  if (ends_with_row_ && !begun_) return yield_between(step);
  if (reversed_ && (step == Step::end || !merge_.key().starts_with(row_prefix_.view())))
    return after_row();
  if (ranges_.was_left() && is_past_window(step)) return next_range(step);
  if (step == Step::end) return finish();
  const Bytes key = merge_.key();
  if (!ranges_.advance_to(key)) return finish();
  if (key < ranges_.current().lower) {
    if (slice_over()) return yield_between(step);
    return skip_to(ranges_.current().lower);
  }
  const Step entered = enter_row();
  if (error_) return entered;
  if (const std::optional<Step> moved = pass_dropped_rows()) return *moved;
  return take_entry<kNotes>(sink, false);
}

// All of the source was committed before that range delete.
bool ScanCursor::is_older(size_t source, CommitStamp dropped) const {
  const SourceBounds bounds = opened_[source]->bounds();
  return bounds.known && bounds.max_stamp < dropped;
}

// The row at hand was just entered. If a range delete covers it, moves the sources that have
// nothing newer behind the rows with the same range deletes; empty: there are none before that.
std::optional<Step> ScanCursor::pass_dropped_rows() {
  const CommitStamp dropped = judge_.row_below();
  const ScanBounds::Range range = ranges_.current();
  if (dropped == CommitStamp{} || !passes_dead_ || reversed_ || range.single_row)
    return std::nullopt;
  const auto older = [&](size_t source) { return is_older(source, dropped); };
  const std::optional<Bytes> end = range_deletes_.stretch_end(judge_.row());
  std::string behind;
  if (end) append_row_prefix(behind, *end);
  const Bytes target = end ? Bytes(behind) : range.upper;
  if (!merge_.any_before(target, older)) return std::nullopt;
  if (slice_over()) {
    place_ = Place::ahead;
    leave(ScanStep::yielded);
    return Step::ready;
  }
  aim_ = Aim::entry;
  slice_left_ -= kSeekCost;
  target_.assign(target);
  return merge_.advance_some_to(target_.view(), older);
}

bool ScanCursor::is_past_window(Step step) const {
  return step == Step::end || merge_.key() >= ranges_.current().upper;
}

// The positions of the sources say nothing about the ranges to come.
Step ScanCursor::next_range(Step step) {
  if (ranges_.is_last()) return finish();
  if (slice_over()) return yield_between(step);
  ranges_.advance();
  return seek(Aim::entry, ranges_.current().lower);
}

// False if run() must end now: the sink asked for a pause, the row limit is reached, or the filter
// has not finished the row.
bool ScanCursor::close_row(CellSink& sink) {
  row_open_ = false;
  if (filter_) {
    closing_ = true;
    if (!take_filter_step(filter_->end_row(sink, slice_left_), sink)) return false;
  }
  return end_row(sink);
}

bool ScanCursor::end_row(CellSink& sink) {
  closing_ = false;
  if (filter_ ? !filter_->row_gave() : !row_gave_) return true;
  ++rows_;
  bool pause = sink.end_row(judge_.row()) == CellSink::Flow::pause;
  pause |= std::exchange(pause_asked_, false);
  const bool last = rows_ == row_limit_;
  if (pause) leave(ScanStep::paused);
  return !pause && !last;
}

// Lets the filter continue with a cell or the end of a row. False if run() must end now.
bool ScanCursor::filter_go_on(CellSink& sink) {
  if (!take_filter_step(filter_->go_on(sink, slice_left_), sink)) return false;
  if (!closing_ || end_row(sink)) return true;
  if (rows_ == row_limit_) place_ = Place::finished;
  stopped_ = true;
  return false;
}

// False if the filter stopped before it was done: run() must end now.
bool ScanCursor::take_filter_step(FilterStep step, CellSink& sink) {
  while (step == FilterStep::yielded && !slice_over()) step = filter_->go_on(sink, slice_left_);
  filtering_ = step == FilterStep::paused || step == FilterStep::yielded;
  if (step == FilterStep::paused) leave(ScanStep::paused);
  if (step == FilterStep::yielded) leave(ScanStep::yielded);
  if (step == FilterStep::failed) fail_with(filter_->error());
  if (step == FilterStep::done) pause_asked_ |= filter_->take_pause();
  return step == FilterStep::done;
}

// Reversed: moves to the row before the one just read.
Step ScanCursor::after_row() {
  if (slice_over()) return yield_between(Step::end);
  if (!ranges_.current().single_row) return seek(Aim::row_before, row_prefix_.view());
  if (!ranges_.advance()) return finish();
  return seek(Aim::row_before, ranges_.current().upper);
}

// Reversed: merge_ is in the greatest row before the bound. Decides whether the row is wanted.
Step ScanCursor::take_row_before(Step step) {
  if (step == Step::end) return finish();
  const Bytes key = merge_.key();
  if (!ranges_.recede_to(key)) return finish();
  if (key >= ranges_.current().upper) {
    if (slice_over()) return yield_between(step);
    return seek(Aim::row_before, ranges_.current().upper);
  }
  const size_t size = row_prefix_size(key);
  if (size == 0)
    return fail_with(
        Error(Errc::data_loss, fmt::format("'{}' is no entry key", escape_bytes(key))));
  row_prefix_.assign(key.substr(0, size));
  if (const std::optional<Step> moved = pass_dropped_rows_before()) return *moved;
  return seek(Aim::row_start, row_prefix_.view());
}

// Reversed: row_prefix_ is the row before the bound. If a range delete covers it and nothing newer
// has entries in it, moves the sources that have nothing newer before the rows with the same range
// deletes; empty: the row must be read.
std::optional<Step> ScanCursor::pass_dropped_rows_before() {
  if (!passes_dead_ || range_deletes_.empty() || ranges_.current().single_row) return std::nullopt;
  std::string scratch;
  const Bytes row = decode_row_prefix(row_prefix_.view(), scratch);
  const CommitStamp dropped = range_deletes_.covering(row, stamp_);
  if (dropped == CommitStamp{}) return std::nullopt;
  const auto newer = [&](size_t source) { return !is_older(source, dropped); };
  if (merge_.any_from(row_prefix_.view(), newer)) return std::nullopt;
  // The row is dead: the next search may begin before it.
  if (slice_over()) return yield_between(Step::ready);
  std::string first;
  append_row_prefix(first, range_deletes_.stretch_start(row));
  slice_left_ -= kSeekCost;
  target_.assign(first);
  return merge_.recede_some_to(target_.view(),
                               [&](size_t source) { return is_older(source, dropped); });
}

Step ScanCursor::enter_row() {
  const Bytes key = merge_.key();
  if (!judge_.begin_row(key, stamp_, now_us_))
    return fail_with(
        Error(Errc::data_loss, fmt::format("'{}' is no entry key", escape_bytes(key))));
  row_prefix_.assign(judge_.row_prefix());
  begun_ = false;
  row_open_ = true;
  row_gave_ = false;
  misses_ = 0;
  passed_over_ = 0;
  if (filter_) filter_->begin_row(judge_.row());
  if (setup_.watch) setup_.watch->begin_row(key, stamp_, now_us_);
  return Step::ready;
}

template <bool kNotes>
Step ScanCursor::take_entry(CellSink& sink, bool same_column) {
  ++entries_read_;
  --slice_left_;
  place_ = Place::in_row;
  const Bytes key = merge_.key();
  const CellState fate =
      same_column ? judge_.judge_in_column(key, merge_.value()) : judge_.judge(key, merge_.value());
  if (fate == CellState::malformed)
    return fail_with(
        Error(Errc::data_loss, fmt::format("entry '{}' is malformed", escape_bytes(key))));
  bool given = fate == CellState::visible;
  if constexpr (kNotes) {
    if (setup_.watch) given = setup_.watch->entry(key, merge_.value(), fate, note_);
  }
  if (judge_.kind() == EntryKind::cell) return take_cell<kNotes>(sink, given);
  if (slice_over()) {
    leave(ScanStep::yielded);
    return Step::ready;
  }
  // Only tokens follow a token.
  if (fate == CellState::token) return skip_to(row_prefix_end(row_prefix_.view()));
  return merge_.next();
}

template <bool kNotes>
Step ScanCursor::take_cell(CellSink& sink, bool given) {
  if (column_ != judge_.column_number()) begin_column();
  if (filter_ && (filter_->row_over() || wanted_ != ColumnVerdict::take)) return pass_over();
  auto verdict = all_cells_ ? CellSelect::Verdict::take : select_.look(judge_.timestamp_us());
  if (verdict == CellSelect::Verdict::take && given && !give<kNotes>(sink)) return Step::ready;
  if (slice_over()) {
    leave(ScanStep::yielded);
    return Step::ready;
  }
  const bool living_over = judge_.column_is_full();
  if (living_over && !(kNotes && setup_.watch && setup_.watch->gives_dead()))
    verdict = CellSelect::Verdict::column;
  return verdict == CellSelect::Verdict::take ? merge_.next() : step_over(verdict);
}

void ScanCursor::begin_column() {
  column_ = judge_.column_number();
  select_.begin_column();
  misses_ = 0;
  if (filter_) wanted_ = filter_->begin_column(judge_.family(), judge_.qualifier());
}

// Passes on the current cell. False if the filter is not done with it: run() must end now.
template <bool kNotes>
bool ScanCursor::give(CellSink& sink) {
  const CellValue& value = judge_.value();
  select_.took();
  row_gave_ = true;
  misses_ = 0;
  passed_over_ = 0;
  if (given_before_ != 0) [[unlikely]] {
    --given_before_;
    return true;
  }
  slice_left_ -= static_cast<int64_t>(value.value.size() / kValueBytesPerEntry);
  CellView cell{judge_.row(), judge_.family(), judge_.qualifier(), judge_.timestamp_us(),
                value.value};
  if constexpr (kNotes) {
    note_.expire_at_us = value.expire_at_us;
    cell.note = &note_;
  }
  if (filter_) return take_filter_step(filter_->cell(cell, sink, slice_left_), sink);
  pause_asked_ |= sink.cell(cell) == CellSink::Flow::pause;
  return true;
}

// Moves past an unwanted cell.
Step ScanCursor::step_over(CellSelect::Verdict verdict) {
  // If versions count, those newer than the wanted ones must be judged.
  const bool seen = verdict == CellSelect::Verdict::newer && judge_.counts();
  if (seen) misses_ = 0;
  if (seen || ++misses_ < steps_before_seek()) return merge_.next();
  misses_ = 0;
  std::string target;
  select_.append_target(target, judge_.column_prefix(), verdict);
  return skip_to(target);
}

// The filter does not want the current cell: moves to the next that it may want.
Step ScanCursor::pass_over() {
  if (slice_over()) {
    leave(ScanStep::yielded);
    return Step::ready;
  }
  const ColumnVerdict verdict = filter_->row_over() ? ColumnVerdict::skip_row : wanted_;
  uint32_t& passed = verdict == ColumnVerdict::skip_column ? misses_ : passed_over_;
  if (++passed < steps_before_seek()) return merge_.next();
  passed = 0;
  return skip_to(next_wanted(filter_->compiled(), verdict, judge_));
}

Step ScanCursor::finish() {
  place_ = Place::finished;
  stopped_ = true;
  return Step::end;
}

Step ScanCursor::fail_with(Error error) {
  error_ = std::move(error);
  stopped_ = true;
  return Step::failed;
}

ScanCursor::ScanCursor(ScanSetup setup)
    : setup_(std::move(setup)),
      reversed_(setup_.spec->reversed),
      with_expiry_(setup_.spec->with_expiry),
      row_limit_(setup_.spec->row_limit),
      ranges_(*setup_.spec, setup_.start, setup_.end),
      passes_dead_(!setup_.watch && !setup_.walk_dead),
      own_retention_(setup_.retention == nullptr ? std::optional(TableRetention(*setup_.schema))
                                                 : std::nullopt),
      judge_(*setup_.schema, retention(), range_deletes_),
      select_(setup_.spec->time_range, setup_.spec->versions),
      wanted_from_us_(setup_.spec->time_range.start_us),
      all_cells_(select_.takes_all()),
      counts_runs_(setup_.spec->explain || setup_.spec->include_dead) {
  if (ranges_.empty()) {
    place_ = Place::finished;
    return;
  }
  const ReadSpec& spec = *std::exchange(setup_.spec, nullptr);
  if (setup_.watch) setup_.watch->attach(range_deletes_);
  if (spec.filter) filter_.emplace(spec.filter, setup_.filtered_row_bytes);
  if (setup_.started) {
    begun_ = true;
    given_before_ = setup_.started->cells;
  }
  ranges_.scope().newer_cells_count = retention().any_counts();
  const bool names = filter_ && filter_->compiled().columns();
  // A watch may need the row's other cells.
  if (!setup_.watch) {
    ranges_.want_only(names ? &*filter_->compiled().columns() : setup_.columns);
  }
  const bool tries = counts_runs_ && is_one_row(spec.rows);
  if (tries || (!setup_.watch && is_read_of_one_row(spec))) {
    wanted_columns_ = wanted_columns(spec, setup_.columns);
  }
  if (wanted_columns_.every_column) {
    // A row that was begun by a merge is ended by a merge, which copies no cells.
    wanted_columns_.every_column =
        given_before_ == 0 && (setup_.stops == nullptr || setup_.stops->is_worth_trying());
  }
  if (wanted_columns_.columns == nullptr && !wanted_columns_.every_column) {
    open_sources();
    return;
  }
  newest_row_ = spec.rows.ranges().front().start;
  newest_read_ = std::make_unique<NewestRead>(*setup_.schema, retention());
}

ScanCursor::~ScanCursor() = default;

void ScanCursor::open_sources() {
  ranges_.scope().time_range.start_us = std::max(wanted_from_us_, dead_before_us());
  for (const auto& source : *setup_.sources) {
    EntryIterator* it = source->open(ranges_.scope(), iterators_);
    if (it == nullptr) continue;
    merge_.add_borrowed(*it);
    opened_.push_back(source.get());
  }
  if (counts_runs_) count_runs();
}

void ScanCursor::count_runs() {
  const auto is_run = [](const auto& source) { return source->is_run(); };
  runs_.all = static_cast<uint32_t>(std::ranges::count_if(*setup_.sources, is_run));
  runs_.opened = static_cast<uint32_t>(std::ranges::count_if(opened_, is_run));
}

// Cells with earlier timestamps need not be read, since they are dead whenever rows are judged;
// INT64_MIN: no such bound is known.
int64_t ScanCursor::dead_before_us() const {
  const bool any_expiry =
      std::any_of(setup_.sources->begin(), setup_.sources->end(),
                  [](const auto& source) { return source->bounds().any_expiry; });
  if (!passes_dead_ || any_expiry || setup_.now == nullptr) return INT64_MIN;
  return engine::dead_before_us(retention(),
                                setup_.started ? setup_.started->now_us : setup_.now->now_us());
}

void ScanCursor::close_sources() {
  merge_.clear();
  opened_.clear();
  iterators_.clear();
  ranges_.forget_ahead();
  setup_.sources = nullptr;
}

// REQUIRES: the next move is a seek that starts no later than after the last row.
void ScanCursor::renew_sources() {
  close_sources();
  setup_.sources = &setup_.pin->renew();
  if (!newest_read_) open_sources();
  range_deletes_.clear();
  range_deletes_.build();
  range_delete_count_ = SIZE_MAX;
  renewed_ = true;
}

void ScanCursor::unpin(const Error& why) {
  if (error_ || place_ == Place::moving) return;
  if (newest_found_ && newest_read_) {  // it holds the rest of the row
    setup_.sources = nullptr;
    return setup_.pin->drop();
  }
  const bool stands = place_ == Place::between || place_ == Place::fresh;
  if (stands && !row_open_ && !begun_ && !closing_ && !filtering_ && setup_.pin->is_stale())
    return renew_sources();
  close_sources();
  setup_.pin->drop();
  if (place_ != Place::finished || filtering_) error_ = why;
}

// Takes the visible stamp. REQUIRES: a seek follows before any entry is examined.
void ScanCursor::renew_stamp() {
  stamp_ = visible();
  renew_now();
  size_t count = 0;
  for (const auto& source : *setup_.sources) count += source->range_deletes().size();
  if (count == range_delete_count_) return;
  range_delete_count_ = count;
  if (count != 0) renew_range_deletes();
}

void ScanCursor::renew_range_deletes() {
  range_deletes_.clear();
  std::string scratch[2];
  const Bytes first = ranges_.bounds().first_row(scratch[0]);
  const std::optional<Bytes> end = ranges_.bounds().end_row(scratch[1]);
  for (const auto& source : *setup_.sources)
    for (const RangeTombstone& range : source->range_deletes()) {
      const bool ends_before = !range.end.empty() && Bytes(range.end) <= first;
      if (!ends_before && (!end || Bytes(range.start) < *end)) range_deletes_.add(range);
    }
  range_deletes_.build(stamp_);
}

// Reads the trusted clock. REQUIRES: no row is open.
void ScanCursor::renew_now() {
  if (setup_.started) {
    now_us_ = setup_.started->now_us;
    return;
  }
  const int64_t clock_us = setup_.at_us            ? *setup_.at_us
                           : setup_.now != nullptr ? setup_.now->ask_us()
                                                   : 0;
  now_us_ = std::max(
      {clock_us, static_cast<int64_t>(stamp_.value() / 1000), retention().not_before_us()});
  if (setup_.watch) now_us_ = std::max(now_us_, setup_.watch->not_before_us());
}

Async<void> ScanCursor::load() {
  std::vector<BlockRequest*> requests;
  collect(requests);
  return load_blocks(std::move(requests));
}

void ScanCursor::collect(std::vector<BlockRequest*>& requests) {
  if (newest_read_) return newest_read_->collect(requests);
  merge_.collect(requests);
  ranges_.collect_ahead(*setup_.sources, row_limit_ == 0 ? 0 : row_limit_ - rows_, requests);
}

}  // namespace cellar::engine
