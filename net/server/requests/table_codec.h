// Conversion of tables between the wire and the engine.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include "engine/node.h"
#include "net/wire/body.h"

namespace cellar::server {

// Precedence: form (INVALID_ARGUMENT), then existence (ALREADY_EXISTS).
Result<void> decode_create(const wire::fb::CreateTableRequest& request,
                           const engine::TableMap& tables, engine::TableSpec& out);

// Precedence: form, then existence (NOT_FOUND, ALREADY_EXISTS). Settings equal to the present ones
// are not changes.
Result<void> decode_alter(const wire::fb::AlterTableRequest& request,
                          const engine::TableMap& tables, engine::TableChange& out);

// INVALID_ARGUMENT: see engine::validate_spec; also for a part not marked as given.
Result<engine::FamilySpec> decode_family(const wire::fb::FamilySpec& family);

// Builds a SampleRowKeysReply in `builder`, which is cleared first: every tablet boundary with the
// bytes before it, then the end.
Bytes build_samples(flatbuffers::FlatBufferBuilder& builder,
                    const std::vector<engine::TabletSize>& tablets);

// Builds a TableDescription in `builder`, which is cleared first. `now_us` is trusted time; it
// decides which undo windows are open.
Bytes build_description(flatbuffers::FlatBufferBuilder& builder, const engine::TableEntry& table,
                        int64_t now_us);

// Builds a RuleHistoryReply in `builder`, which is cleared first.
Bytes build_history(flatbuffers::FlatBufferBuilder& builder, const TableSchema& schema,
                    const FamilySchema& family, int64_t now_us);

}  // namespace cellar::server
