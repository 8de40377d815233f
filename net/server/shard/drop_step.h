// DropStep: the first of the two steps of a DropRowRange with a token
// (engine/write/range_tokens.h): the commit in the table's first tablet. The other tablets follow
// once it is durable. Meanwhile the session holds the request (Session::hold_for), so that later
// requests of the connection do not overtake it. The step is not undone, whatever becomes of the
// request.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/catalog/table_map.h"
#include "engine/engine.h"
#include "io/base/result.h"

namespace cellar::server {

class Session;
class ShardServer;

struct DropStep {
  bool over = false;
  std::optional<Error> error;  // valid when `over`
  Session* session = nullptr;  // notified at the end; null: it has abandoned the request

  TableId table;  // distinguishes a new table of the same name

  // Storage for the views in `write`.
  std::string start;
  std::string end;
  std::string client;
  std::string token_text;
  WriteToken token;
  engine::Write write;
};

// Submits the write of `step` to the tablet, possibly on another shard.
void start(ShardServer& shard, std::shared_ptr<DropStep> step,
           const engine::TabletDescriptor& tablet);

}  // namespace cellar::server
