#include "engine/wal/replay.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

namespace cellar::engine {

void ReplayPlan::add(TabletId tablet, Epoch epoch, const std::vector<LogSpan>& spans,
                     ReplayTarget& target) {
  for (const LogSpan& span : spans) logs_[span.log].push_back({tablet, epoch, span, &target});
}

// Passes the entries of one log to their tablets.
class ReplayPlan::Visitor final : public LogVisitor {
 public:
  Visitor(LogId log, const std::vector<Want>& wants, ReplayReport& report)
      : log_(log), report_(report) {
    for (const Want& want : wants) by_tablet_[want.tablet].push_back(&want);
  }

  Result<void> entry(const LogEntry& entry, LogPosition end) override {
    const auto it = by_tablet_.find(entry.tablet);
    if (it == by_tablet_.end()) return {};
    for (const Want* want : it->second) {
      if (want->epoch != entry.epoch || !want->span.contains(end)) continue;
      ++report_.commits;
      report_.bytes += entry.payload.size();
      auto taken = want->target->replay(entry.stamp, entry.payload);
      if (taken) continue;
      Error error = std::move(taken).error();
      error.message = fmt::format("log {} before position {}, tablet {}: {}", log_, end,
                                  entry.tablet, error.message);
      return std::unexpected(std::move(error));
    }
    return {};
  }

 private:
  LogId log_;
  ReplayReport& report_;
  absl::flat_hash_map<TabletId, std::vector<const Want*>> by_tablet_;
};

Async<Result<ReplayReport>> ReplayPlan::run(ReplayPlan plan, LogStore& store) {
  ReplayReport report;
  for (const auto& [log, wants] : plan.logs_) {
    LogPosition from = kLogEnd;
    LogPosition to = kLogBegin;
    for (const Want& want : wants) {
      from = std::min(from, want.span.from);
      if (want.span.to != kLogEnd) to = std::max(to, want.span.to);
    }
    Visitor visitor(log, wants, report);
    auto read = co_await store.read(log, from, visitor);
    if (!read) {
      Error error = std::move(read).error();
      if (error.code == Errc::not_found) error.code = Errc::data_loss;
      co_return std::unexpected(std::move(error));
    }
    if (read->end < to) {
      co_return fail(Errc::data_loss, "log {} ends at {}, but an earlier start read it up to {}",
                     log, read->end, to);
    }
    report.logs[log] = LogReplayed{read->end, read->torn_tail_bytes, read->torn_place};
  }
  co_return report;
}

}  // namespace cellar::engine
