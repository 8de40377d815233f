#include "engine/gc/reclaim_reason.h"

#include <algorithm>

namespace cellar::engine {
namespace {

// Smaller amounts are rounding errors.
constexpr double kLeastBytes = 1;

class Reasons {
 public:
  explicit Reasons(const ReclaimSnapshot& of) : of_(of) {
    const std::vector<ReclaimInput> inputs(of.files.begin(), of.files.end());
    standings_ = reclaim_standings(inputs, of.counts);
    const auto work = pick_reclaim(inputs, of.counts);
    const double per_byte = of.us_per_byte;
    const int64_t starts_us = std::max(of.now_us, of.not_before_us);
    const double takes_us = std::min((work ? work->bytes : 0) * per_byte, 1e15);
    done_us_ = per_byte > 0 && work ? starts_us + static_cast<int64_t>(takes_us) : INT64_MAX;
    for (const ReclaimFileState& file : of.files) {
      if (file.damaged && !damaged_) damaged_ = file.blob;
    }
  }

  std::vector<ReclaimFile> take() const {
    std::vector<ReclaimFile> files;
    for (size_t i = 0; i < of_.files.size(); ++i) {
      ReclaimFile file = described(of_.files[i]);
      explain(i, file);
      if (file.reason != ReclaimReason::none) files.push_back(std::move(file));
    }
    return files;
  }

 private:
  static uint64_t whole(double bytes) { return static_cast<uint64_t>(std::max(bytes, 0.0)); }

  ReclaimFile described(const ReclaimFileState& state) const {
    ReclaimFile file;
    file.tablet = of_.tablet;
    file.blob = state.blob;
    file.run = state.run_number;
    file.bytes = whole(state.bytes);
    file.wholly_dead = state.dead_from_us <= of_.now_us;
    file.dead_bytes = file.wholly_dead ? file.bytes : whole(state.all_dead);
    file.overdue_bytes = whole(state.all_overdue);
    file.held_bytes = whole(state.held);
    if (file.overdue_bytes > 0) file.overdue_since_us = state.overdue_since_us;
    return file;
  }

  void explain(size_t i, ReclaimFile& file) const {
    const ReclaimFileState& state = of_.files[i];
    const bool dead = file.wholly_dead;
    const bool overdue = state.all_overdue >= kLeastBytes;
    if (state.damaged) return because(file, ReclaimReason::damaged, state.damage);
    if (!dead && !overdue) return explain_held(state, file);
    if (of_.stopped) return because(file, ReclaimReason::read_only, *of_.stopped);
    if (state.merging) {
      file.since_us = of_.merge_began_us;
      file.reason = ReclaimReason::merging;
      return;
    }
    if (dead && of_.now_us < state.dead_from_us + of_.margin_us) {
      file.until_us = state.dead_from_us + of_.margin_us;
      file.reason = ReclaimReason::margin;
      return;
    }
    if (!dead && !of_.due) {
      file.until_us = of_.slack_due_us;
      file.reason = ReclaimReason::within_slack;
      return;
    }
    if (of_.failure) {
      file.since_us = of_.failed_us;
      file.until_us = of_.not_before_us;
      return because(file, ReclaimReason::failed, *of_.failure);
    }
    if (dead) return explain_dead(state, file);
    explain_overdue(i, file);
  }

  void explain_held(const ReclaimFileState& state, ReclaimFile& file) const {
    if (state.unknown) {
      file.reason = ReclaimReason::unknown;
    } else if (state.held >= kLeastBytes) {
      file.reason = ReclaimReason::undo_window;
      file.until_us = of_.undo_until_us;
    }
  }

  void explain_dead(const ReclaimFileState& state, ReclaimFile& file) const {
    if (state.goes) return turn(file, ReclaimReason::its_turn);
    if (damaged_) {
      file.other = *damaged_;
      file.reason = ReclaimReason::beside_damaged;
      return;
    }
    file.until_us = std::max({of_.merge_due_us, of_.not_before_us, of_.now_us});
    file.count = of_.runs;
    file.reason = state.masked ? ReclaimReason::masks_older : ReclaimReason::all_runs;
    if (state.masked) file.other = *state.masked;
  }

  void explain_overdue(size_t i, ReclaimFile& file) const {
    using Kind = ReclaimStanding::Kind;
    const ReclaimStanding& standing = standings_[i];
    if (standing.kind == Kind::blocked) {
      file.other = of_.files[*standing.blocker].blob;
      file.reason = ReclaimReason::beside_damaged;
      return;
    }
    if (of_.in_vain) {
      file.until_us = of_.not_before_us;
      file.reason = ReclaimReason::in_vain;
      return;
    }
    if (of_.counts) {
      file.count = of_.runs;
      return turn(file, ReclaimReason::all_runs);
    }
    turn(file, standing.kind == Kind::chosen ? ReclaimReason::its_turn : ReclaimReason::later);
  }

  void turn(ReclaimFile& file, ReclaimReason reason) const {
    file.reason = reason;
    file.until_us = std::max(of_.now_us, of_.not_before_us);
    file.done_us = file.wholly_dead ? INT64_MAX : done_us_;
  }

  static void because(ReclaimFile& file, ReclaimReason reason, const std::string& error) {
    file.reason = reason;
    file.error = error;
  }

  const ReclaimSnapshot& of_;
  std::vector<ReclaimStanding> standings_;
  std::optional<BlobId> damaged_;
  int64_t done_us_ = INT64_MAX;
};

}  // namespace

std::string_view reclaim_reason_name(ReclaimReason reason) {
  constexpr std::string_view kNames[kReclaimReasons] = {
      "none",        "within_slack",      "margin",           "its_turn",
      "later",       "all_runs",          "merging",          "masks_older",
      "undo_window", "damaged",           "beside_damaged",   "failed",
      "read_only",   "pinned_by_readers", "pinned_by_backup", "not_removed",
      "shared",      "unknown",           "in_vain"};
  const auto i = static_cast<size_t>(reason);
  return i < kReclaimReasons ? kNames[i] : "none";
}

std::vector<ReclaimFile> reclaim_reasons(const ReclaimSnapshot& situation) {
  return Reasons(situation).take();
}

}  // namespace cellar::engine
