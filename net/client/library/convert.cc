#include "net/client/library/convert.h"

namespace cellar::library {
namespace {

// The numbers of the public enumerations are those of the tree, which are on the wire.
static_assert(static_cast<int>(v0::Code::unauthenticated) ==
              static_cast<int>(Errc::unauthenticated));
static_assert(static_cast<int>(v0::Applied::applied) == static_cast<int>(Applied::applied));
static_assert(static_cast<int>(v0::Filter::Kind::label) ==
              static_cast<int>(client::Filter::Kind::label));
static_assert(static_cast<int>(v0::Rule::Kind::all) ==
              static_cast<int>(client::RetentionRule::Kind::all));
static_assert(static_cast<int>(v0::TimestampMeaning::sequence) ==
              static_cast<int>(client::TimestampMeaning::sequence));

std::optional<client::Token> token_of(const std::optional<std::string>& token,
                                      std::int64_t issued_us) {
  if (!token) return std::nullopt;
  return client::Token{*token, issued_us};
}

client::RetentionRule converted_rule(const v0::Rule& rule) {
  client::RetentionRule made;
  made.kind = static_cast<client::RetentionRule::Kind>(rule.kind);
  made.value = rule.value;
  for (const v0::Rule& part : rule.parts) made.parts.push_back(converted_rule(part));
  return made;
}

v0::Rule public_rule(const client::RetentionRule& rule) {
  v0::Rule made;
  made.kind = static_cast<v0::Rule::Kind>(rule.kind);
  made.value = rule.value;
  for (const client::RetentionRule& part : rule.parts) made.parts.push_back(public_rule(part));
  return made;
}

client::FamilySpec family_of(const v0::Family& family) {
  client::FamilySpec made;
  made.name = family.name;
  made.rule_given = family.rule_given;
  made.rule = to_internal(family.rule);
  if (family.timestamps)
    made.timestamps = static_cast<client::TimestampMeaning>(*family.timestamps);
  made.undo_window_us = family.undo_window_us;
  return made;
}

v0::Family public_family(const client::FamilySpec& family) {
  v0::Family made(family.name);
  made.rule_given = true;
  if (family.rule) made.rule = public_rule(*family.rule);
  if (family.timestamps) made.timestamps = static_cast<v0::TimestampMeaning>(*family.timestamps);
  made.undo_window_us = family.undo_window_us;
  return made;
}

std::vector<client::FamilySpec> families_of(const std::vector<v0::Family>& families) {
  std::vector<client::FamilySpec> made;
  for (const v0::Family& family : families) made.push_back(family_of(family));
  return made;
}

client::Filter::Bounds bounds_of(const v0::Filter::Bounds& bounds) {
  return {bounds.start, bounds.end, bounds.start_open, bounds.end_closed};
}

void add(client::Mutation& to, const v0::Mutation::Operation& operation) {
  using Kind = v0::Mutation::Kind;
  switch (operation.kind) {
    case Kind::set:
      if (operation.timestamp_us) {
        to.set(operation.family, operation.qualifier, operation.value, *operation.timestamp_us);
      } else {
        to.set(operation.family, operation.qualifier, operation.value);
      }
      if (operation.ttl_us) to.with_ttl(*operation.ttl_us);
      if (operation.expire_at_us) to.with_expire_at(*operation.expire_at_us);
      return;
    case Kind::delete_column:
      to.delete_column(operation.family, operation.qualifier, operation.start_us, operation.end_us);
      return;
    case Kind::delete_family:
      to.delete_family(operation.family);
      return;
    case Kind::delete_row:
      to.delete_row();
      return;
  }
}

v0::Row row_of(const client::Row& row) {
  v0::Row made{std::string(row.key()), {}};
  made.cells.reserve(row.cells().size());
  for (const client::Cell& cell : row.cells()) made.cells.push_back(to_public(cell, false));
  return made;
}

}  // namespace

// ---- to net/client

client::ClientOptions to_internal(const v0::Options& options) {
  client::ClientOptions made;
  made.address = options.address;
  made.connections = options.connections;
  made.client_name = options.client_name;
  made.client_id = options.client_id;
  if (!options.routing_hint.empty()) made.routing_hint = client::hint_of(options.routing_hint);
  made.tls.enabled = options.tls;
  made.tls.ca = options.ca;
  made.tls.certificate = options.certificate;
  made.tls.key = options.key;
  made.tls.server_name = options.server_name;
  made.token = options.token;
  made.token_file = options.token_file;
  made.connect_timeout_us = options.connect_timeout_us;
  made.request_deadline_us = options.deadline_us;
  made.admin_deadline_us = options.admin_deadline_us;
  made.draw_tokens = options.draw_tokens;
  made.wait_for_connection = options.wait_for_connection;
  made.max_pending = options.max_pending;
  made.max_pending_bytes = options.max_pending_bytes;
  return made;
}

client::CallOptions to_internal(const v0::CallOptions& options) {
  client::CallOptions made;
  if (options.deadline_us) made.deadline_us = *options.deadline_us;
  made.draw_tokens = options.draw_tokens;
  return made;
}

client::Mutation to_internal(const v0::Mutation& mutation) {
  client::Mutation made(mutation.row());
  for (const auto& operation : mutation.operations()) add(made, operation);
  if (const auto token = token_of(mutation.token(), mutation.token_issued_us()))
    made.with_token(*token);
  return made;
}

client::Filter to_internal(const v0::Filter& filter) {
  client::Filter made;
  made.kind = static_cast<client::Filter::Kind>(filter.kind);
  for (const v0::Filter& child : filter.children) made.children.push_back(to_internal(child));
  made.has_then = filter.has_then;
  made.has_else = filter.has_else;
  made.text = filter.text;
  made.family = filter.family;
  made.bounds = bounds_of(filter.bounds);
  made.start_us = filter.start_us;
  made.end_us = filter.end_us;
  made.count = filter.count;
  made.sample = filter.sample;
  return made;
}

client::ReadRows to_internal(const v0::ReadRows& read) {
  client::ReadRows made;
  if (read.prefix) made = client::ReadRows::prefix(*read.prefix);
  made.keys = read.keys;
  for (const v0::RowRange& range : read.ranges) {
    made.ranges.push_back({range.start, range.end, range.start_open, range.end_closed});
  }
  if (read.filter) made.filter = to_internal(*read.filter);
  made.row_limit = read.row_limit;
  made.reversed = read.reversed;
  made.notes.with_expiry = read.with_expiry;
  return made;
}

client::CheckAndMutate to_internal(const v0::CheckAndMutate& check) {
  client::CheckAndMutate made;
  made.row = check.row;
  if (check.predicate) made.filter = to_internal(*check.predicate);
  made.then_mutation = to_internal(check.then_mutation);
  made.else_mutation = to_internal(check.else_mutation);
  made.token = token_of(check.token, check.token_issued_us);
  return made;
}

client::ReadModifyWrite to_internal(const v0::ReadModifyWrite& modify) {
  client::ReadModifyWrite made;
  made.row = modify.row;
  for (const auto& rule : modify.rules) {
    made.rules.push_back({rule.family, rule.qualifier, rule.append, rule.increment_by});
  }
  made.token = token_of(modify.token, modify.token_issued_us);
  return made;
}

client::DropRows to_internal(const v0::DropRows& drop) {
  return {drop.prefix, drop.start, drop.end, token_of(drop.token, drop.token_issued_us)};
}

std::optional<client::RetentionRule> to_internal(const std::optional<v0::Rule>& rule) {
  if (!rule) return std::nullopt;
  return converted_rule(*rule);
}

client::TableSpec to_internal(const v0::TableSpec& spec) {
  client::TableSpec made;
  made.name = spec.name;
  if (spec.micros) made.granularity = Granularity::micros;
  made.families = families_of(spec.families);
  made.splits = spec.splits;
  made.options.reclaim_within_us = spec.reclaim_within_us;
  return made;
}

client::TableChange to_internal(const v0::TableChange& change) {
  client::TableChange made;
  made.name = change.name;
  made.add = families_of(change.add);
  made.alter = families_of(change.alter);
  made.drop = change.drop;
  made.options.reclaim_within_us = change.reclaim_within_us;
  return made;
}

// ---- from net/client

v0::Error to_public(const Error& error) {
  v0::Error made;
  made.code = static_cast<v0::Code>(error.code);
  made.message = error.message;
  made.applied = static_cast<v0::Applied>(error.applied);
  if (error.retry_after_ms != kRetryNever) made.retry_after_ms = error.retry_after_ms;
  return made;
}

v0::Commit to_public(const client::MutateReply& reply) {
  return {reply.commit_stamp_ns, reply.timestamp_us, reply.repeated};
}

v0::Commit to_public(const client::DropReply& reply) {
  v0::Commit made;
  made.stamp_ns = reply.commit_stamp_ns;
  return made;
}

v0::Checked to_public(const client::CheckAndMutateReply& reply) {
  return {reply.matched, {reply.commit_stamp_ns, reply.timestamp_us, reply.repeated}};
}

std::vector<v0::Result<void>> to_public(const client::EntryResults& results) {
  std::vector<v0::Result<void>> made;
  for (const auto& one : results) {
    made.push_back(one ? v0::Result<void>() : v0::Result<void>(to_public(one.error())));
  }
  return made;
}

std::optional<v0::Row> to_public(const std::optional<client::Row>& row) {
  if (!row) return std::nullopt;
  return row_of(*row);
}

v0::Modified to_public(const client::Row& row) {
  v0::Modified made;
  made.row = row_of(row);
  made.commit.stamp_ns = row.commit_stamp_ns();
  made.commit.repeated = row.repeated();
  return made;
}

v0::Table to_public(const client::TableDescription& table) {
  v0::Table made;
  made.name = table.name;
  made.version = table.version;
  made.micros = table.granularity == Granularity::micros;
  for (const client::FamilySpec& family : table.families) {
    made.families.push_back(public_family(family));
  }
  made.tablets = table.tablets.size();
  return made;
}

std::vector<std::string> to_public(const std::vector<client::TableSummary>& tables) {
  std::vector<std::string> names;
  for (const client::TableSummary& table : tables) names.push_back(table.name);
  return names;
}

v0::Preview to_public(const client::PreviewReply& preview) {
  v0::Preview made;
  made.cells = preview.cells;
  made.rows = preview.rows;
  made.bytes = preview.bytes;
  made.cells_seen = preview.cells_seen;
  made.rows_seen = preview.rows_seen;
  made.sample_rows = preview.samples;
  made.undo_window_us = preview.undo_window_us;
  return made;
}

v0::Cell to_public(const client::Cell& cell, bool tells_expiry) {
  v0::Cell made;
  made.family = cell.family;
  made.qualifier = cell.qualifier;
  made.timestamp_us = cell.timestamp_us;
  made.value = cell.value;
  made.labels = cell.labels;
  if (tells_expiry && cell.expire_at_us != kNoExpiry) made.expire_at_us = cell.expire_at_us;
  return made;
}

}  // namespace cellar::library
