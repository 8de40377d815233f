// Parts of request bodies: an arena under construction, and vectors that refer to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/client/api/admin.h"
#include "net/client/api/filter.h"
#include "net/client/api/mutation.h"
#include "net/client/codec/requests.h"
#include "net/wire/body.h"

namespace cellar::client {

namespace fb = wire::fb;

using wire::ArenaBuilder;
using wire::byte_vector;

flatbuffers::Offset<flatbuffers::String> string_of(flatbuffers::FlatBufferBuilder& builder,
                                                   std::string_view text);
// 0 (absent) if there is nothing to encode.
flatbuffers::Offset<fb::Token> token_of(flatbuffers::FlatBufferBuilder& builder,
                                        const std::optional<Token>& token);
fb::Durability durability_of(const std::optional<Durability>& durability);

// `arena_at`: offset of the mutation's arena in the body's.
void append_records(const Mutation& mutation, uint32_t arena_at,
                    std::vector<fb::MutationRec>& records);
fb::RangeRec range_of(const RowRange& range, ArenaBuilder& arena);
void append_nodes(const Filter& filter, ArenaBuilder& arena, std::vector<fb::FilterNode>& nodes);
void append_nodes(const RetentionRule& rule, std::vector<fb::RuleNode>& nodes);
flatbuffers::Offset<fb::FamilySpec> family_of(flatbuffers::FlatBufferBuilder& builder,
                                              const FamilySpec& family);
flatbuffers::Offset<fb::IndexSpec> index_of(flatbuffers::FlatBufferBuilder& builder,
                                            const IndexSpec& index);
flatbuffers::Offset<fb::TableOptions> options_of(flatbuffers::FlatBufferBuilder& builder,
                                                 const TableOptions& options);

}  // namespace cellar::client
