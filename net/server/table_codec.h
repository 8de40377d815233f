// Tables between the wire and the engine.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include "engine/node.h"
#include "net/wire/body.h"
#include "net/wire/rule_codec.h"

namespace cellar::server {

// Precedence: form (INVALID_ARGUMENT), existence (ALREADY_EXISTS), then UNIMPLEMENTED for parts of
// the contract that are not there yet.
Result<void> decode_create(const wire::fb::CreateTableRequest& request,
                           const engine::TableMap& tables, engine::TableSpec& out);

// The form of a family: its name, its rule, its durations.
Result<void> check_family(const wire::fb::FamilySpec& family);

// A TableDescription in `builder`, which is cleared first.
Bytes build_description(flatbuffers::FlatBufferBuilder& builder, const engine::TableEntry& table);

}  // namespace cellar::server
