// Conversion of the definitions of indexes between the wire and the engine.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include "engine/node.h"
#include "net/wire/body.h"

namespace cellar::server {

// Precedence of all three: form (INVALID_ARGUMENT), then existence (NOT_FOUND, ALREADY_EXISTS).
Result<void> decode_create_index(const wire::fb::CreateIndexRequest& request,
                                 const engine::TableMap& tables, engine::TableChange& out);
// Also INVALID_ARGUMENT: an own age that is not marked as given.
Result<void> decode_alter_index(const wire::fb::AlterIndexRequest& request,
                                const engine::TableMap& tables, engine::TableChange& out);
Result<void> decode_drop_index(const wire::fb::DropIndexRequest& request,
                               const engine::TableMap& tables, engine::TableChange& out);

// Adds an IndexSpec to the body that is being built.
flatbuffers::Offset<wire::fb::IndexSpec> describe_index(flatbuffers::FlatBufferBuilder& builder,
                                                  const IndexSchema& index);

// Builds a DescribeIndexesReply in `builder`, which is cleared first.
Bytes build_index_states(flatbuffers::FlatBufferBuilder& builder,
                         const engine::IndexStates& states);

// Builds a CheckIndexReply in `builder`, which is cleared first. `shows_rows`: with the samples.
Bytes build_index_check(flatbuffers::FlatBufferBuilder& builder,
                        const engine::IndexCheckReport& report, bool shows_rows);

}  // namespace cellar::server
