#include "engine/read/run_iterator.h"

#include <algorithm>

namespace cellar::engine {

void RunIterator::open(size_t index) {
  if (at_ == index) return;
  at_ = index;
  current_.emplace(*tables_[index], options_);
}

Step RunIterator::seek(Bytes key) {
  backward_ = false;
  const auto it =
      std::partition_point(tables_.begin(), tables_.end(),
                           [key](const TableSlice* table) { return table->ends_before(key); });
  if (it == tables_.end()) return Step::end;
  open(static_cast<size_t>(it - tables_.begin()));
  return cross_tables(current_->seek(key));
}

Step RunIterator::seek_before(Bytes key) {
  backward_ = true;
  const auto it =
      std::partition_point(tables_.begin(), tables_.end(),
                           [key](const TableSlice* table) { return table->begins_before(key); });
  if (it == tables_.begin()) return Step::end;
  open(static_cast<size_t>(it - tables_.begin()) - 1);
  return cross_tables(current_->seek_before(key));
}

Step RunIterator::next() {
  backward_ = false;
  return cross_tables(current_->next());
}

Step RunIterator::resume() { return cross_tables(current_->resume()); }

// At the end of a table the move continues in the next one. This also happens backwards, because a
// slice may start later than its known bound.
Step RunIterator::cross_tables(Step step) {
  while (step == Step::end && !backward_ && at_ + 1 < tables_.size()) {
    if (options_.window != nullptr && options_.window->ends_before(tables_[at_ + 1]->first())) {
      options_.window->leave();
      break;
    }
    open(at_ + 1);
    step = current_->seek("");
  }
  while (step == Step::end && backward_ && at_ > 0) {
    // The whole previous table is before the target.
    const Bytes end = tables_[at_]->first();
    open(at_ - 1);
    step = current_->seek_before(end);
  }
  return step;
}

}  // namespace cellar::engine
