// Between the values of the library and those of net/client.
#pragma once

#include <cellar/client.h>

#include "net/client/client.h"

namespace cellar::library {

client::ClientOptions to_internal(const v0::Options& options);
client::CallOptions to_internal(const v0::CallOptions& options);
client::Mutation to_internal(const v0::Mutation& mutation);
client::Filter to_internal(const v0::Filter& filter);
client::ReadRows to_internal(const v0::ReadRows& read);
client::CheckAndMutate to_internal(const v0::CheckAndMutate& check);
client::ReadModifyWrite to_internal(const v0::ReadModifyWrite& modify);
client::DropRows to_internal(const v0::DropRows& drop);
std::optional<client::RetentionRule> to_internal(const std::optional<v0::Rule>& rule);
client::TableSpec to_internal(const v0::TableSpec& spec);
client::TableChange to_internal(const v0::TableChange& change);
client::IndexSpec to_internal(const v0::Index& index);
client::AlterIndex to_internal(const std::string& table, const v0::IndexChange& change);
client::ReadIndex to_internal(const v0::ReadIndex& read);

v0::Error to_public(const Error& error);
v0::Commit to_public(const client::MutateReply& reply);
v0::Commit to_public(const client::DropReply& reply);
v0::Checked to_public(const client::CheckAndMutateReply& reply);
std::vector<v0::Result<void>> to_public(const client::EntryResults& results);
std::optional<v0::Row> to_public(const std::optional<client::Row>& row);
v0::Modified to_public(const client::Row& row);
v0::Table to_public(const client::TableDescription& table);
std::vector<std::string> to_public(const std::vector<client::TableSummary>& tables);
v0::Preview to_public(const client::PreviewReply& preview);
std::vector<v0::IndexState> to_public(const std::vector<client::IndexDescription>& indexes);
inline std::int64_t to_public(const client::Pong& pong) { return pong.now_us; }

v0::Cell to_public(const client::Cell& cell, bool tells_expiry);

}  // namespace cellar::library
