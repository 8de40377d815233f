#include "engine/tablet/conditional.h"

#include <algorithm>
#include <utility>

#include "engine/filter/compiled_filter.h"
#include "engine/read/cell_judge.h"
#include "engine/read/cell_watch.h"
#include "engine/retention/explain.h"
#include "engine/tablet/tablet.h"
#include "io/base/check.h"

namespace cellar::engine {
namespace {

// Number of times a reading that had to wait is repeated.
constexpr int kFreshReadings = 3;

size_t bytes_of(const Mutation& cell) {
  return cell.family.size() + cell.qualifier.size() + cell.value.size();
}

void finish(ConditionalWrite& write, std::optional<Error> error) {
  write.error = std::move(error);
  write.done(write);  // may free the write
}

// The log has failed below the answer. A refusal has changed nothing; a repetition is as uncertain
// as its first attempt.
Error lost_below(const ConditionalWrite& write, Error error) {
  if (write.repeated) error.applied = Applied::maybe_applied;
  return error;
}

// Answers once everything that the reading may have seen is durable.
Async<void> finish_when_durable(Tablet& tablet, ConditionalWrite& write, CommitStamp stamp,
                                std::optional<Error> error, Gate::Pass pass) {
  auto durable = co_await tablet.commits().visible(stamp);
  if (!durable) error = lost_below(write, Error(Errc::unavailable, durable.error().message));
  finish(write, std::move(error));
}

// `stamp`: the last commit on which the answer is based.
void finish_without_commit(Tablet& tablet, ConditionalWrite& write, CommitStamp stamp,
                           std::optional<Error> error) {
  // After a failure of the log, what was read may be lost.
  if (tablet.shard().wal.is_stopped()) {
    return finish(write, lost_below(write, tablet.shard().wal.refusal()));
  }
  if (tablet.commits().empty()) return finish(write, std::move(error));
  auto pass = tablet.gate().enter();
  if (!pass) return finish(write, std::move(pass).error());
  spawn(tablet.shard().runtime.executor,
        finish_when_durable(tablet, write, stamp, std::move(error), std::move(*pass)));
}
void finish_without_commit(Tablet& tablet, ConditionalWrite& write, std::optional<Error> error) {
  finish_without_commit(tablet, write, tablet.history().last_commit, std::move(error));
}

// Copies the cells of the answer into the write.
void keep_cells(ConditionalWrite& write, const std::vector<Mutation>& made) {
  size_t size = 0;
  for (const Mutation& cell : made) size += bytes_of(cell);
  write.values.clear();
  write.values.reserve(size);
  const auto keep = [&write](Bytes& view) {
    const size_t at = write.values.size();
    write.values.append(view);
    view = Bytes(write.values.data() + at, view.size());
  };
  write.new_cells = made;
  for (Mutation& cell : write.new_cells) {
    keep(cell.family);
    keep(cell.qualifier);
    keep(cell.value);
  }
}

// The write's token is known: answers with the first answer, once that is durable.
void answer_again(Tablet& tablet, ConditionalWrite& write, const TokenLookup& known) {
  const TokenRecord& first = known.record();
  std::optional<Error> error;
  if (first.content != write.token.content) {
    error = Error(Errc::invalid_argument,
                  fmt::format("the token came with another write to row '{}' before",
                              escape_bytes(write.row)));
  } else {
    write.repeated = true;
    write.matched = first.matched;
    write.answer_not_kept = first.cells_left_out;
    keep_cells(write, first.cells);
  }
  finish_without_commit(tablet, write, known.stamp(), std::move(error));
}

// Adds a token record to the write's commit: its present answer.
void remember(Tablet& tablet, ConditionalWrite& write) {
  TokenRecord record;
  record.until_us = write.token.issued_us + tablet.shard().tokens.window().window_us;
  record.content = write.token.content;
  record.matched = write.matched;
  size_t size = 0;
  for (const Mutation& cell : write.new_cells) size += bytes_of(cell);
  record.cells_left_out = size > kMaxTokenCellBytes;
  if (!record.cells_left_out) record.cells = write.new_cells;
  write.token_record.clear();
  append_token_record(write.token_record, record);
  write.token_id = token_id(write.token.client, write.token.token);
  write.token_entry = {write.token_id, write.token_record};
  write.commit.token = &write.token_entry;
}

void commit_done(Write& commit) {
  auto& write = *static_cast<ConditionalWrite*>(commit.context);
  write.error = std::move(commit.error);
  write.done(write);
}

Error changed_meanwhile(Bytes row) {
  return Error(Errc::aborted,
               fmt::format("what was read of row '{}' has died or was altered before the write "
                           "could follow",
                           escape_bytes(row)))
      .retry_after(0);
}

// The row has been read: commits, answers or refuses accordingly.
void settle(Tablet& tablet, ConditionalWrite& write, RowReading& reading) {
  if (tablet.obsolete()) {
    return finish(write, Error(Errc::aborted, fmt::format("tablet {} is gone", tablet.id())));
  }
  if (const TokenLookup* known = reading.known()) return answer_again(tablet, write, *known);
  if (tablet.shard().wal.is_stopped()) return finish(write, tablet.shard().wal.refusal());
  if (auto valid = reading.check_schema(); !valid) return finish(write, std::move(valid).error());
  if (write.token.present()) {
    auto room = tablet.shard().tokens.make_room(tablet.shard().runtime.clock.now_us());
    if (!room) return finish_without_commit(tablet, write, std::move(room).error());
  }
  const CommitStamp stamp = tablet.next_stamp();
  if (!reading.still_holds(stamp)) {
    return finish_without_commit(tablet, write, changed_meanwhile(write.row));
  }
  write.commit.mutation = {write.row, {}};
  if (RowModify* modify = reading.modify()) {
    const auto now_us = static_cast<int64_t>(stamp.value() / 1000);
    const int64_t server_us = now_us - now_us % granule_us(tablet.schema().granularity);
    auto made = modify->make(server_us, tablet.shard().options.limits);
    if (!made) return finish_without_commit(tablet, write, std::move(made).error());
    keep_cells(write, modify->mutations());
    write.commit.mutation.mutations = write.new_cells;
    auto valid =
        validate_mutation(write.commit.mutation, tablet.schema(), tablet.shard().options.limits);
    if (!valid) return finish_without_commit(tablet, write, std::move(valid).error());
  } else {
    write.matched = reading.matched();
    const bool then = write.plain || write.matched;
    write.commit.mutation.mutations = then ? write.then_mutations : write.else_mutations;
    if (write.commit.mutation.mutations.empty() && !write.token.present()) {
      return finish_without_commit(tablet, write, std::nullopt);
    }
  }
  if (write.token.present()) remember(tablet, write);
  write.commit.tablet = write.tablet;
  write.commit.level = write.level;
  write.commit.error.reset();
  write.commit.context = &write;
  write.commit.done = commit_done;
  const bool judged = write.rules.empty();
  auto taken = tablet.commit(write.commit, stamp, judged);
  if (!taken) finish_without_commit(tablet, write, std::move(taken).error());
}

// Runs the reading to its result, waiting for blocks; true when it had to wait.
Async<bool> read_through(RowReading& reading, ScanStep& step) {
  bool waited = false;
  while (step == ScanStep::blocked || step == ScanStep::yielded) {
    waited = true;
    if (step == ScanStep::blocked) {
      co_await reading.load();
    } else {
      co_await yield_now();
    }
    step = reading.run();
  }
  co_return waited;
}

Async<void> go_on(Tablet& tablet, ConditionalWrite& write, std::unique_ptr<RowReading> reading,
                  ScanStep step, Gate::Pass pass) {
  const std::string row(write.row);
  co_await yield_now();  // the row is open before the reading continues
  std::optional<Error> error;
  std::unique_ptr<RowReading> before;  // keeps its blocks until the next reading has finished
  for (int left = kFreshReadings;; --left) {
    const bool waited = co_await read_through(*reading, step);
    if (step == ScanStep::failed) error = reading->error();
    if (error || !waited || left == 0) break;
    before = std::move(reading);
    reading = std::make_unique<RowReading>(tablet, write, left == 1);
    auto opened = reading->open();
    if (!opened) {
      error = std::move(opened).error();
      break;
    }
    step = reading->run();
  }
  if (error) {
    finish(write, std::move(error));
  } else {
    settle(tablet, write, *reading);
  }
  tablet.conditions().close(row);
}

}  // namespace

// Records when the first of the cells returned by a cursor will die.
class FirstDeath final : public CellWatch {
 public:
  // `schema`: the cursor's; must outlive this.
  explicit FirstDeath(const TableSchema& schema)
      : schema_(schema), rules_(TableRetention::counted(schema)) {}

  void attach(const RangeDeletes& ranges) override {
    judge_.emplace(schema_, rules_, ranges);
    judge_->want_deaths(true);
  }
  void begin_row(Bytes key, CommitStamp at, int64_t /*now_us*/) override {
    const bool begun = judge_->begin_row(key, at, kEndOfTimeUs);
    CHECK(begun, "a row that one judge could begin, the other could not");
  }
  bool entry(Bytes key, Bytes value, CellState fate, CellNote& /*note*/) override {
    (void)judge_->judge(key, value);
    if (fate != CellState::visible) return false;
    first_ = std::min(first_, judge_->died());
    return true;
  }
  bool gives_dead() const override { return false; }

  // A returned cell is dead at this microsecond.
  bool by(int64_t us) const { return first_ < instant_after_us(us); }

 private:
  const TableSchema& schema_;
  const TableRetention rules_;
  std::optional<CellJudge> judge_;  // at the end of time
  Instant first_ = kNever;
};

RowReading::RowReading(Tablet& tablet, ConditionalWrite& write, bool may_wait)
    : tablet_(tablet), write_(write), may_wait_(may_wait) {
  if (write.rules.empty()) return;
  modify_.emplace(write.rules, tablet_.shard().options.limits.row_bytes);
  if (write.rules.size() > kMostNamedColumns) return;
  for (const ModifyRule& rule : write.rules) {
    columns_.push_back({std::string(rule.family), std::string(rule.qualifier)});
  }
  normalize(columns_);
}

Result<void> RowReading::open() {
  schema_version_ = tablet_.schema().version;
  valid_ = validate(write_, tablet_.schema(), tablet_.shard().options.limits);
  if (write_.token.present()) {
    TRY_VOID(open_token());
  } else {
    TRY_VOID(valid_);
  }
  if (write_.plain || !valid_) return {};
  ReadSpec spec;
  spec.rows.add(KeyRange::single(write_.row));
  spec.rows.normalize();
  if (modify_) spec.versions = 1;
  if (!modify_ && write_.filter != nullptr) write_.filter->narrow(spec);
  as_of_.stamp = tablet_.last_stamp();
  std::unique_ptr<FirstDeath> watch;
  if (may_wait_) watch = std::make_unique<FirstDeath>(tablet_.schema());
  first_death_ = watch.get();
  TRY(cursor_,
      tablet_.open_scan(spec, &as_of_, std::move(watch), columns_.empty() ? nullptr : &columns_));
  return {};
}

bool RowReading::still_holds(CommitStamp stamp) const {
  if (!cursor_ || first_death_ == nullptr) return true;
  if (tablet_.schema().version != schema_version_) return false;
  return !first_death_->by(static_cast<int64_t>(stamp.value() / 1000));
}

Result<void> RowReading::check_schema() const {
  if (!valid_ || tablet_.schema().version == schema_version_) return valid_;
  return validate(write_, tablet_.schema(), tablet_.shard().options.limits);
}

Result<void> RowReading::open_token() {
  const ShardContext& shard = tablet_.shard();
  const int64_t now_us = shard.runtime.clock.now_us();
  TRY_VOID(
      check_issue(write_.token, now_us, shard.tokens.window().for_issue(write_.token.issued_us)));
  std::string prefix;
  append_token_prefix(prefix, write_.row, token_id(write_.token.client, write_.token.token));
  if (!tablet_.may_remember(token_hash(tablet_.id(), prefix), now_us)) return {};
  token_.emplace(tablet_.pin(), std::move(prefix), now_us);
  return {};
}

ScanStep RowReading::run() {
  if (token_) {
    const Step step = token_->run();
    if (step == Step::blocked) return ScanStep::blocked;
    if (step == Step::failed) return ScanStep::failed;
    if (step == Step::ready) return ScanStep::done;
    token_.reset();
  }
  if (!cursor_) return ScanStep::done;
  CellSink* sink = &exists_;
  if (modify_) sink = &*modify_;
  const ScanStep step = cursor_->run(*sink);
  return step == ScanStep::paused ? ScanStep::done : step;
}

Result<void> validate(const ConditionalWrite& write, const TableSchema& schema,
                      const MutationLimits& limits) {
  if (write.token.present()) TRY_VOID(validate_token(write.token));
  if (write.plain) return validate_mutation({write.row, write.then_mutations}, schema, limits);
  if (!write.rules.empty()) return validate_modify(write.row, write.rules, schema, limits);
  return validate_check(write.row, write.then_mutations, write.else_mutations, schema, limits);
}

bool begin_conditional(Tablet& tablet, ConditionalWrite& write) {
  auto reading = std::make_unique<RowReading>(tablet, write);
  if (auto opened = reading->open(); !opened) {
    finish(write, std::move(opened).error());
    return true;
  }
  const ScanStep step = reading->run();
  if (step == ScanStep::done) {
    settle(tablet, write, *reading);
    return true;
  }
  if (step == ScanStep::failed) {
    finish(write, reading->error());
    return true;
  }
  auto pass = tablet.gate().enter();
  if (!pass) {
    finish(write, std::move(pass).error());
    return true;
  }
  spawn(tablet.shard().runtime.executor,
        go_on(tablet, write, std::move(reading), step, std::move(*pass)));
  return false;
}

}  // namespace cellar::engine
