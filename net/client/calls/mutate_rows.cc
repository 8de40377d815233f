#include "net/client/calls/mutate_rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "net/client/codec/frame_parts.h"

namespace cellar::client {

// The entries of one request, over all its attempts.
class MutateRowsOp::Part final : public Call {
 public:
  Part(std::shared_ptr<MutateRowsOp> op, Request request, std::vector<uint32_t> entries)
      : Call(op->dispatcher_.timers(), std::move(request)),
        op_(std::move(op)),
        entries_(std::move(entries)) {}

  void finish(Result<wire::Frame> answer, Reach reach) override;
  bool chunk(const wire::Frame&) override { return false; }
  void abandon() override {
    if (auto* completion = std::exchange(op_->completion_, nullptr)) completion->abandon();
    delete this;
  }

 private:
  ~Part() override = default;
  // Positions of the failures to retry; sets the longest of their pauses.
  std::vector<uint32_t> to_repeat(const EntryResults& results, int64_t& pause_us);

  std::shared_ptr<MutateRowsOp> op_;
  std::vector<uint32_t> entries_;  // positions in the whole request
};

void MutateRowsOp::Part::finish(Result<wire::Frame> answer, Reach reach) {
  EntryResults results;
  if (answer) {
    const std::vector<std::string> none;
    auto decoded = decode_entries(Answer{*answer, none, entries_.size()});
    if (decoded) {
      results = *std::move(decoded);
      op_->answered_ = true;
    } else {
      answer = std::unexpected(std::move(decoded).error());
    }
  }
  if (!answer) results.assign(entries_.size(), std::unexpected(answer.error()));
  if (!answer && entries_.empty()) op_->refused_ = answer.error();

  int64_t pause_us = 0;
  std::vector<uint32_t> again;
  if (ending() == Ending::answered || ending() == Ending::lost) {
    again = to_repeat(results, pause_us);
  }
  size_t next = 0;
  for (uint32_t i = 0; i < results.size(); ++i) {
    if (next < again.size() && again[next] == i) {
      ++next;
      continue;
    }
    Result<void>& result = results[i];
    if (!result && in_doubt() && result.error().applied == Applied::not_applied) {
      result.error().applied = Applied::maybe_applied;
    }
    op_->results_[entries_[i]] = std::move(result);
  }
  if (again.empty()) {
    const std::shared_ptr<MutateRowsOp> op = std::move(op_);
    std::erase(op->parts_, this);
    delete this;
    op->part_ended(reach);
    return;
  }
  keep_entries(request(), again);
  for (uint32_t i = 0; i < again.size(); ++i) entries_[i] = entries_[again[i]];
  entries_.resize(again.size());
  request().repeat = op_->repeat_of(entries_);
  op_->dispatcher_.submit_again(*this, pause_us);
}

std::vector<uint32_t> MutateRowsOp::Part::to_repeat(const EntryResults& results,
                                                    int64_t& pause_us) {
  std::vector<uint32_t> again;
  if (std::all_of(results.begin(), results.end(), [](const auto& r) { return r.has_value(); })) {
    return again;
  }
  const std::vector<Bytes> rows = rows_of(request());
  std::set<Bytes> passed;  // rows with a later entry that is or may be applied
  for (uint32_t i = static_cast<uint32_t>(results.size()); i-- > 0;) {
    const Result<void>& result = results[i];
    const bool safe = !result && !passed.contains(rows[i]) &&
                      RetryPolicy::worth_it(result.error()) &&
                      RetryPolicy::safe(result.error(), op_->repeats_[entries_[i]]);
    if (safe) {
      again.push_back(i);
      // With a token the repeat applies nothing if the first attempt did, so an earlier entry that
      // is applied now would come after it.
      if (op_->tokens_[entries_[i]] && result.error().applied != Applied::not_applied)
        passed.insert(rows[i]);
    } else if (result || result.error().applied != Applied::not_applied) {
      passed.insert(rows[i]);
    }
  }
  std::reverse(again.begin(), again.end());
  if (again.empty()) return again;
  // One decision for all of them, because they share a request.
  Error worst = results[again.front()].error();
  for (const uint32_t i : again) {
    worst.retry_after_ms = std::max(worst.retry_after_ms, results[i].error().retry_after_ms);
  }
  worst.applied = Applied::not_applied;  // decided above, entry by entry
  const auto pause =
      op_->dispatcher_.policy().pause_us(worst, Repeat::always, attempts(), left_us());
  if (!pause) again.clear();
  pause_us = pause.value_or(0);
  return again;
}

MutateRowsOp::MutateRowsOp(Dispatcher& dispatcher, std::string_view table,
                           const std::vector<Mutation>& entries, const CallOptions& options,
                           int64_t deadline_us, bool wait)
    : dispatcher_(dispatcher), results_(entries.size()) {
  for (const Mutation& entry : entries) {
    tokens_.push_back(options.draw_tokens.value_or(false) || entry.token().has_value());
    const bool safe = tokens_.back() || entry.safe_to_repeat(options.sole_writer.value_or(false));
    repeats_.push_back(safe ? Repeat::always : Repeat::unless_applied);
  }
  std::vector<std::vector<uint32_t>> parts;
  cut(table, entries, parts);
  for (std::vector<uint32_t>& part : parts) {
    Request request = dispatcher_.encoder().mutate_rows(table, entries, part, options);
    request.deadline_us = deadline_us;
    request.wait = wait;
    request.keep_frame = true;
    request.repeat = repeat_of(part);
    prepared_.push_back({std::move(part), std::move(request)});
  }
}

// Of a request with these entries as a whole. With tokens each entry is looked at: to_repeat().
Repeat MutateRowsOp::repeat_of(const std::vector<uint32_t>& entries) const {
  for (const uint32_t entry : entries) {
    if (repeats_[entry] != Repeat::always || tokens_[entry]) return Repeat::unless_applied;
  }
  return Repeat::always;
}

void MutateRowsOp::start(Completion<EntryResults>* completion) {
  completion_ = completion;
  for (Prepared& part : prepared_) {
    parts_.push_back(
        new Part(shared_from_this(), std::move(part.request), std::move(part.entries)));
  }
  prepared_.clear();
  // A part does not end inside submit() unless it is refused, which completes through the queue.
  const std::vector<Part*> all = parts_;
  for (Part* part : all) dispatcher_.submit(*part);
}

void MutateRowsOp::cut(std::string_view table, const std::vector<Mutation>& entries,
                       std::vector<std::vector<uint32_t>>& parts) {
  if (entries.size() < kMinCutRows || !dispatcher_.shard_of(table, entries.front().row())) {
    parts.emplace_back(entries.size());
    for (uint32_t i = 0; i < entries.size(); ++i) parts.back()[i] = i;
    return;
  }
  std::vector<std::vector<uint32_t>> by_shard;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const uint32_t shard = dispatcher_.shard_of(table, entries[i].row()).value_or(0);
    if (shard >= by_shard.size()) by_shard.resize(shard + size_t{1});
    by_shard[shard].push_back(i);
  }
  for (auto& part : by_shard) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
}

void MutateRowsOp::cancel() {
  const std::vector<Part*> all = parts_;
  for (Part* part : all) {
    // The end of one part may be the end of all.
    if (std::find(parts_.begin(), parts_.end(), part) != parts_.end()) Dispatcher::cancel(*part);
  }
}

void MutateRowsOp::part_ended(Reach reach) {
  if (!parts_.empty()) return;
  auto* completion = std::exchange(completion_, nullptr);
  if (!completion) return;
  if (refused_) {
    completion->complete(std::unexpected(*std::move(refused_)), reach);
    return;
  }
  if (answered_ || results_.empty()) {
    completion->complete(std::move(results_), reach);
    return;
  }
  // No entry was answered: the request failed as a whole, and its outcome is as doubtful as that of
  // its most doubtful part.
  const auto worst = std::max_element(
      results_.begin(), results_.end(),
      [](const auto& a, const auto& b) { return a.error().applied < b.error().applied; });
  completion->complete(std::unexpected(worst->error()), reach);
}

}  // namespace cellar::client
