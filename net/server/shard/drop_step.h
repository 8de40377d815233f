// DropStep: the first of the two steps of a DropRowRange with a token
// (engine/write/range_tokens.h): the commit in the table's first tablet. The others are asked once
// it is durable; meanwhile the request is held at its session (Session::hold_for), so that what the
// connection sent behind it is not overtaken. What the step did is not undone, whatever becomes of
// the request.
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
  std::optional<Error> error;  // once it is over
  Session* session = nullptr;  // is told when it is over; null: it has given the request up

  TableId table;  // a table of the same name that was made meanwhile is another one

  // What the write views.
  std::string start;
  std::string end;
  std::string client;
  std::string token_text;
  WriteToken token;
  engine::Write write;
};

// Submits to the tablet, which may be another shard's, what `step` holds.
void start(ShardServer& shard, std::shared_ptr<DropStep> step,
           const engine::TabletDescriptor& tablet);

}  // namespace cellar::server
