#include "engine/jobs/install.h"

#include "engine/tablet/open_tablet.h"

namespace cellar::engine {

Installation::~Installation() {
  if (keep_) return;
  for (const Ref<TabletTable>& table : tables_) table->mark_obsolete();
}

Async<Result<Installation>> Installation::begin(Tablet& tablet, std::vector<TableMeta> outputs) {
  ShardContext& shard = tablet.shard();
  Installation installation(tablet);
  // Runs as flush work, because flushes wait longest for it.
  Background::Work work(shard.background, BackgroundKind::flush);
  for (size_t i = 0; i < outputs.size(); ++i) {
    TableItem item;
    item.meta = outputs[i];
    item.verified_us = shard.runtime.clock.expected_us();
    auto table = co_await open_table(shard.files, std::move(item), &work);
    if (!table) {
      for (; i < outputs.size(); ++i) shard.files.obsolete.remove(outputs[i].blob);
      co_return std::unexpected(std::move(table).error());
    }
    installation.tables_.push_back(std::move(*table));
  }
  installation.lock_ = co_await tablet.edit_lock().lock();
  if (tablet.obsolete()) co_return fail(Errc::aborted, "tablet {} was dropped", tablet.id());
  co_return installation;
}

Async<Result<uint64_t>> Installation::commit(TabletState state,
                                             std::vector<Ref<TabletTable>> inputs) {
  VersionEdit edit =
      put_state(key_of(tablet_->id()), tablet_->manifest_version(), encode_tablet_state(state));
  for (const Ref<TabletTable>& table : tables_) {
    edit.put_items.emplace_back(table->blob().value(), encode_table_item(table->item()));
  }
  for (const Ref<TabletTable>& table : inputs) {
    edit.remove_items.push_back(table->blob().value());
  }
  auto version = co_await tablet_->shard().files.manifest.commit(std::move(edit));
  keep_ = version || version.error().applied == Applied::maybe_applied;
  co_return version;
}

}  // namespace cellar::engine
