// browse_index: a page of what a read through an index finds, for display. Bounded in hits, bytes
// and time; the next page continues behind the position of this one. A page whose time is over has
// what is known by then to be first in the order of the index, perhaps nothing, and has moved on;
// one that has not moved fails.
#pragma once

#include <string>
#include <vector>

#include "engine/model/index_read_spec.h"
#include "net/http/cell_browser.h"
#include "net/server/shard/shard_server.h"

namespace cellar::http {

inline constexpr size_t kMaxBrowsedHits = 100;

struct BrowseIndexRequest {
  std::string table;
  IndexReadSpec spec;
  size_t hits = kMaxBrowsedHits;  // at most
};

struct BrowsedHit {
  BrowsedCell cell;
  // The cell is found; false, with explain alone: CellNote::cause of the cell hides it.
  bool found = true;
  std::vector<BrowsedCell> covered;
};

struct BrowsedHits {
  std::vector<BrowsedHit> hits;
  bool more = false;  // more hits may follow `next`
  // The position up to which there is nothing else; IndexReadSpec::after of the next page.
  std::string next;
  int64_t now_us = 0;  // trusted time of the reading
};

// Call on the requesting shard. Errors of Engine::open_index; DEADLINE_EXCEEDED.
Async<Result<BrowsedHits>> browse_index(server::ShardServer& shard, BrowseIndexRequest request);

}  // namespace cellar::http
