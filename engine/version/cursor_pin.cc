#include "engine/version/cursor_pin.h"

#include <algorithm>

namespace cellar::engine {

bool CursorPin::holds_flushed() const {
  return version_ && std::ranges::any_of(version_->memtables,
                                         [](const auto& memtable) { return memtable->flushed; });
}

// Under another schema the cursor's rules and families would not match what it reads.
bool CursorPin::is_stale() const {
  return cursor_ != nullptr && all_.empty() && facts_->newest != nullptr &&
         facts_->schema_version == schema_->value.version && holds_flushed();
}

// Its rows would be judged by rules that are not in force any more. So would those of a tablet that
// is gone: the tablets that have replaced it are altered without it.
bool CursorPin::must_reopen() const {
  return cursor_ != nullptr && (facts_->newest == nullptr || facts_->reads_held ||
                                facts_->schema_version != schema_->value.version);
}

const ReadSources& CursorPin::renew() {
  version_ = facts_->newest;
  return version_->sources;
}

void OpenCursors::shed(const MemtableGauge& gauge, size_t most_bytes) {
  for (VersionHolder& holder : holders_) {
    if (gauge.pinned_bytes <= most_bytes) return;
    if (holder.holds_flushed()) holder.let_go();
  }
  for (auto it = pins_.begin(); it != pins_.end() && gauge.pinned_bytes > most_bytes;) {
    CursorPin& pin = *it++;
    if (!pin.holds_flushed()) continue;
    pin.cursor_->unpin(
        Error(Errc::unavailable,
              fmt::format("flushed memtables that reads still hold take {} bytes, the bound is {}: "
                          "the read is resumed behind the last row that was complete",
                          gauge.pinned_bytes, most_bytes))
            .retry_after(0));
  }
}

}  // namespace cellar::engine
