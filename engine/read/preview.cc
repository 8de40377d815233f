#include "engine/read/preview.h"

#include <algorithm>

namespace cellar::engine {

PreviewJudge::PreviewJudge(const TableSchema& before, const TableSchema& after,
                           const RangeDeletes& ranges)
    : rules_before_(before),
      rules_after_(after),
      before_(before, rules_before_, ranges),
      after_(after, rules_after_, ranges) {}

Result<bool> PreviewJudge::entry(Bytes key, Bytes value, CommitStamp at, int64_t now_us) {
  if (!before_.in_row(key)) {
    // The change is made at a moment of its own, which is not before it.
    const int64_t then_us = std::max(now_us, rules_after_.not_before_us());
    if (!before_.begin_row(key, at, now_us) || !after_.begin_row(key, at, then_us)) {
      return fail(Errc::data_loss, "'{}' is no entry key", escape_bytes(key));
    }
    row_loses_ = false;
  }
  const Fate now = before_.judge(key, value);
  const Fate then = after_.judge(key, value);
  if (now == Fate::malformed) {
    return fail(Errc::data_loss, "entry '{}' is malformed", escape_bytes(key));
  }
  if (now != Fate::visible) return false;
  ++count_.cells_seen;
  if (then == Fate::visible) return false;
  ++count_.cells;
  count_.bytes += key.size() + before_.value().value.size();
  count_.rows += !row_loses_;
  row_loses_ = true;
  return true;
}

}  // namespace cellar::engine
