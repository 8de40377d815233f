#include "engine/write/token_lookup.h"

#include "engine/read/block_load.h"
#include "engine/sstable/table_slice.h"

namespace cellar::engine {

TokenLookup::TokenLookup(Ref<const Version> version, std::string prefix, int64_t now_us)
    : version_(std::move(version)), prefix_(std::move(prefix)), now_us_(now_us) {
  const Bytes row = Bytes(prefix_).substr(0, row_prefix_size(prefix_));
  const std::string end = row_prefix_end(row);
  probe_.aim(row);
  probe_.add_key(prefix_);
  TableIteratorOptions options;
  options.probe = &probe_;
  for (const auto& memtable : version_->memtables) {
    merge_.add(std::make_unique<Memtable::Iterator>(memtable->entries.tree()));
  }
  for (const TabletRun& run : version_->runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      const TableSlice& slice = table->slice();
      if (!table->meta().bounds.may_hold_tokens(now_us_) || !slice.may_have_entries()) continue;
      if (slice.ends_before(row) || !slice.begins_before(end)) continue;
      if (!slice.table().may_contain(probe_)) continue;
      merge_.add(std::make_unique<SliceIterator>(slice, options));
    }
  }
}

Step TokenLookup::run() {
  const Step step = begun_ ? merge_.resume() : merge_.seek(prefix_);
  begun_ = true;
  if (step == Step::failed) error_ = merge_.error();
  if (step != Step::ready) return step;
  // The newest entry comes first. An expired token has freed its id.
  const Bytes key = merge_.key();
  if (!key.starts_with(prefix_)) return Step::end;
  ParsedKey parsed;
  if (!parse_key(key, parsed) || !parse_token_record(merge_.value(), record_)) {
    error_ = Error(Errc::data_loss, fmt::format("entry '{}' is malformed", escape_bytes(key)));
    return Step::failed;
  }
  stamp_ = parsed.stamp;
  return record_.until_us >= now_us_ ? Step::ready : Step::end;
}

Async<void> TokenLookup::load() { return load_blocks(merge_); }

}  // namespace cellar::engine
