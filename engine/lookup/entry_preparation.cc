#include "engine/lookup/entry_preparation.h"

#include <utility>

namespace cellar::engine {

EntryPreparation::EntryPreparation(Ref<const Version> version) : version_(std::move(version)) {
  for (const Ref<TabletMemtable>& memtable : version_->memtables) {
    cells_.push_back(memtable->entries.indexed_cells());
  }
}

bool EntryPreparation::step() {
  size_t entries = kEntriesPerStep;
  for (; next_ < cells_.size(); ++next_) {
    if (!version_->memtables[next_]->make_index_entries(cells_[next_], entries)) return false;
  }
  return true;
}

}  // namespace cellar::engine
