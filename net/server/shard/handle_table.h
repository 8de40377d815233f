// HandleTable: the handles of one connection. A handle is a number that the client chooses and
// binds to a table by a `bind` frame; requests then name the table by it, in 4 bytes.
//
// A handle bound by name stands for the table that has the name when a request arrives, so it
// survives that the table is dropped and created again. A handle bound by id stands for that table
// only, and names the instance of the node, because ids are counted by each node. A `bind` frame
// has no answer: what is wrong with it is the answer to the requests that use the handle.
//
// Example: bind(1, {table "events"}); resolve() of a request with handle 1 fills in the table
// `events`, looked up once for each version of the table map.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/catalog/table_map.h"
#include "io/base/result.h"
#include "net/server/shard/stale_news.h"
#include "net/wire/body.h"
#include "net/wire/frame.h"

namespace cellar::server {

// One connection, one shard.
class HandleTable {
 public:
  // A new binding replaces the old one. A name longer than a table's is not kept. `instance`: of
  // this node. REQUIRES: 1 <= handle <= wire::kMaxHandles.
  void bind(uint32_t handle, const wire::fb::Bind& to, uint64_t instance);
  // Fills in the target of `header.handle`; without a handle nothing. `table_name` is valid until
  // the next bind(). Errors: INVALID_ARGUMENT if the handle is bound to nothing,
  // FAILED_PRECONDITION if it is bound for another instance.
  Result<void> resolve(wire::FrameHeader& header, const engine::TableMap& tables);
  // The handles bound to a tablet that is gone or has another epoch, as far as that is news since
  // the last call, at the end of `stale`.
  struct Stale {
    uint32_t handle = 0;
    TabletPlaces::Place now;
  };
  void take_stale(TabletPlaces& current, std::vector<Stale>& stale);
  size_t size() const { return targets_.size(); }
  // No handle was ever bound.
  bool empty() const { return targets_.empty(); }

 private:
  enum class State : uint8_t { unbound, bound, nameless, too_long, of_another_node };
  struct Target {
    State state = State::unbound;
    std::string table;                          // empty: bound by id
    uint64_t table_id = 0;                      // by name: as of `map_version`; 0: there is none
    const engine::TableEntry* entry = nullptr;  // as of `map_version`; null: there is none
    uint64_t map_version = 0;
    uint64_t tablet_id = 0;
    uint64_t epoch = 0;
    std::optional<uint64_t> told;  // the last epoch that take_stale() returned
  };
  static void find_table(Target& target, const engine::TableMap& tables);

  std::vector<Target> targets_;  // of handle i + 1
};

}  // namespace cellar::server
