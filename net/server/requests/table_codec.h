// Tables between the wire and the engine.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include "engine/node.h"
#include "net/wire/body.h"

namespace cellar::server {

// Precedence: form (INVALID_ARGUMENT), then existence (ALREADY_EXISTS).
Result<void> decode_create(const wire::fb::CreateTableRequest& request,
                           const engine::TableMap& tables, engine::TableSpec& out);

// Precedence: form, then existence (NOT_FOUND, ALREADY_EXISTS). What is asked for and holds already
// is no change.
Result<void> decode_alter(const wire::fb::AlterTableRequest& request,
                          const engine::TableMap& tables, engine::TableChange& out);

// INVALID_ARGUMENT as engine::validate_spec says, and for a part without the mark that it is given.
Result<engine::FamilySpec> decode_family(const wire::fb::FamilySpec& family);

// A SampleRowKeysReply in `builder`, which is cleared first: every boundary of a tablet with the
// bytes before it, then the end.
Bytes build_samples(flatbuffers::FlatBufferBuilder& builder,
                    const std::vector<engine::TabletSize>& tablets);

// A TableDescription in `builder`, which is cleared first. `now_us` is trusted time: which undo
// windows are open.
Bytes build_description(flatbuffers::FlatBufferBuilder& builder, const engine::TableEntry& table,
                        int64_t now_us);

// A RuleHistoryReply in `builder`, which is cleared first.
Bytes build_history(flatbuffers::FlatBufferBuilder& builder, const TableSchema& schema,
                    const FamilySchema& family, int64_t now_us);

}  // namespace cellar::server
