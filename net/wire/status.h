// Conversion of errors to and from the wire.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <optional>
#include <string>

#include "engine/model/types.h"
#include "io/base/result.h"
#include "net/wire/body.h"

namespace cellar::wire {

// Location of a row, sent to a client with a stale map or one that asked the wrong node.
struct TabletHint {
  TableId table;
  TabletId tablet;
  Epoch epoch;
  uint32_t shard = 0;
  std::string owner;  // "HOST:PORT" of the node that has the table; empty: this node
};

// Longer messages are truncated.
inline constexpr size_t kMaxStatusMessageBytes = 1024;

// The body of a frame with the error flag, built in `builder`, which is cleared first.
Bytes build_status(flatbuffers::FlatBufferBuilder& builder, const Error& error,
                   const TabletHint* hint = nullptr);

// Client side. Unknown numbers decode as unknown and maybe applied.
Error error_of(const fb::Status& status);
// The hint of a refusal for a stale tablet or epoch, or because another node owns the table.
std::optional<TabletHint> hint_of(const fb::Status& status);
Errc errc_of(uint8_t code);
Applied applied_of(uint8_t applied);

}  // namespace cellar::wire
