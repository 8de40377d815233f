// Errors on the wire and back.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <optional>

#include "engine/model/types.h"
#include "io/base/result.h"
#include "net/wire/body.h"

namespace cellar::wire {

// Where a row lives, told to a client whose map was stale.
struct TabletHint {
  TableId table;
  TabletId tablet;
  Epoch epoch;
  uint32_t shard = 0;
};

// A message longer than this is cut.
inline constexpr size_t kMaxStatusMessageBytes = 1024;

// The body of a frame with the error flag, in `builder`, which is cleared first.
Bytes build_status(flatbuffers::FlatBufferBuilder& builder, const Error& error,
                   const TabletHint* hint = nullptr);

// What a client makes of it. Numbers that do not exist read as unknown and maybe applied.
Error error_of(const fb::Status& status);
// Of a refusal for a stale tablet or epoch.
std::optional<TabletHint> hint_of(const fb::Status& status);
Errc errc_of(uint8_t code);
Applied applied_of(uint8_t applied);

}  // namespace cellar::wire
