#include "net/server/shard/handle_table.h"

#include "engine/model/key.h"
#include "io/base/check.h"

namespace cellar::server {

void HandleTable::bind(uint32_t handle, const wire::fb::Bind& to, uint64_t instance) {
  CHECK(handle != 0 && handle <= wire::kMaxHandles);
  if (targets_.size() < handle) targets_.resize(handle);
  Target& target = targets_[handle - 1];
  target = {};
  if (wire::text(to.table()).size() > kMaxTableNameBytes) {  // not kept: it would be no table's
    target.state = State::too_long;
    return;
  }
  target.table = wire::text(to.table());
  if (target.table.empty()) target.table_id = to.table_id();
  target.tablet_id = to.tablet_id();
  target.epoch = to.epoch();
  const bool by_id_alone = target.table_id != 0 && to.instance() == 0;
  if (to.instance() != 0 && to.instance() != instance) {
    target.state = State::of_another_node;
  } else if ((target.table.empty() && target.table_id == 0) || by_id_alone) {
    target.state = State::nameless;
  } else {
    target.state = State::bound;
  }
}

Result<void> HandleTable::resolve(wire::FrameHeader& header, const engine::TableMap& tables) {
  if (header.handle == 0) return {};
  Target* target = header.handle <= targets_.size() ? &targets_[header.handle - 1] : nullptr;
  switch (target == nullptr ? State::unbound : target->state) {
    case State::unbound:
      return fail(Errc::invalid_argument, "handle {} is bound to no table", header.handle);
    case State::nameless:
      return fail(Errc::invalid_argument,
                  "handle {} was bound without a table name, or to an id without the instance that "
                  "the id belongs to",
                  header.handle);
    case State::too_long:
      return fail(Errc::invalid_argument,
                  "handle {} was bound to a table name of more than {} bytes", header.handle,
                  kMaxTableNameBytes);
    case State::of_another_node:
      return fail(Errc::failed_precondition,
                  "handle {} was bound for another node, or for this one before it was started "
                  "again",
                  header.handle);
    case State::bound:
      break;
  }
  find_table(*target, tables);
  header.table_id = target->table_id;
  header.tablet_id = target->tablet_id;
  header.epoch = target->epoch;
  header.table_name = target->table;
  header.table = target->entry;
  header.map_version = target->map_version;
  return {};
}

// Looks the table up once for each version of the map.
void HandleTable::find_table(Target& target, const engine::TableMap& tables) {
  if (target.map_version == tables.version) return;
  target.map_version = tables.version;
  if (target.table.empty()) {
    target.entry = tables.find(TableId{target.table_id});
    return;
  }
  target.entry = tables.find(Bytes(target.table));
  target.table_id = target.entry == nullptr ? 0 : target.entry->schema.id.value();
}

void HandleTable::take_stale(TabletPlaces& current, std::vector<Stale>& stale) {
  for (size_t i = 0; i < targets_.size(); ++i) {
    Target& target = targets_[i];
    if (target.state != State::bound || target.tablet_id == 0) continue;
    find_table(target, current.tables());
    const TabletPlaces::Place now = current.find(target.table_id, target.tablet_id);
    const bool holds = now.epoch != 0 && (target.epoch == 0 || target.epoch == now.epoch);
    if (holds || target.told == now.epoch) continue;
    target.told = now.epoch;
    stale.push_back({static_cast<uint32_t>(i) + 1, now});
  }
}

}  // namespace cellar::server
