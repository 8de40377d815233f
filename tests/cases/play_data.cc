#include "tests/cases/player.h"
#include "tests/cases/translate.h"

namespace cellar::cases {
namespace {

std::string table_of(const json::object& object) {
  return std::string(object.at("table").as_string());
}

}  // namespace

void collect(std::vector<ReadCell>& out, Bytes row, std::span<const client::Cell> cells) {
  for (const client::Cell& cell : cells) {
    out.push_back({std::string(row), std::string(cell.family), std::string(cell.qualifier),
                   std::string(cell.value), std::string(cell.labels), cell.timestamp_us});
  }
}

Result<std::optional<client::Token>> Player::token_of(const json::object& object) {
  const auto* value = object.if_contains("token");
  if (value == nullptr) return std::optional<client::Token>();
  // A token is issued once: its repetition has the time of the first use.
  const std::string name(value->as_string());
  if (const auto known = tokens_.find(name); known != tokens_.end())
    return std::optional(known->second);
  const auto pong = client().ping();
  if (!pong) return std::unexpected(pong.error());
  return std::optional(tokens_.emplace(name, client::Token{name, pong->now_us}).first->second);
}

Player::Answer Player::play_write(const Step& step) {
  const auto& object = step.value.as_object();
  if (step.verb == "mutate_rows") return mutate_rows(step);
  if (step.verb == "drop_rows") return drop_rows(object);
  TRY(const std::string row, parse_bytes(object.at("row")));
  TRY(client::Mutation mutation, parse_mutation(row, object.at("ops")));
  TRY(const auto token, token_of(object));
  if (token) mutation.with_token(*token);
  return Played{error_of(client().mutate_row(table_of(object), mutation)), ""};
}

Player::Answer Player::mutate_rows(const Step& step) {
  const auto& object = step.value.as_object();
  std::vector<client::Mutation> entries;
  for (const auto& value : object.at("entries").as_array()) {
    const auto& entry = value.as_object();
    TRY(const std::string row, parse_bytes(entry.at("row")));
    TRY(client::Mutation mutation, parse_mutation(row, entry.at("ops")));
    entries.push_back(std::move(mutation));
  }
  const auto results = client().mutate_rows(table_of(object), entries);
  if (!results) return Played{results.error(), ""};
  std::string got, wanted;
  for (const auto& result : *results) {
    got += fmt::format("{} ", result ? "OK" : errc_name(result.error().code));
  }
  for (size_t i = 0; i < entries.size() && step.expect == nullptr; ++i) wanted += "OK ";
  if (step.expect != nullptr) {
    for (const auto& status : step.expect->as_array())
      wanted += fmt::format("{} ", std::string_view(status.as_string()));
  }
  if (got != wanted)
    return Played{{}, fmt::format("entries answered {}, expected {}", got, wanted)};
  return Played();
}

Player::Answer Player::drop_rows(const json::object& object) {
  client::DropRows drop;
  TRY(drop.token, token_of(object));
  for (auto& [key, target] : {std::pair("prefix", &drop.prefix), std::pair("start", &drop.start),
                              std::pair("end", &drop.end)}) {
    const auto* value = object.if_contains(key);
    if (value == nullptr) continue;
    TRY(*target, parse_bytes(*value));
  }
  return Played{error_of(client().drop_row_range(table_of(object), drop)), ""};
}

// Three times: the third point read of a row may be answered by the row cache.
Player::Answer Player::read(const Step& step) {
  Answer answer = read_once(step);
  for (int again = 0; again < 2 && answer && !answer->error && answer->difference.empty(); ++again)
    answer = read_once(step);
  return answer;
}

Player::Answer Player::read_once(const Step& step) {
  const auto& object = step.value.as_object();
  TRY(const client::ReadRows request, parse_read(object));
  client::ReadStream stream = client().read_rows(table_of(object), request);
  std::vector<ReadCell> cells;
  while (true) {
    const auto block = client().next(stream);
    if (!block) return Played{block.error(), ""};
    if (block->empty()) break;
    for (const client::RowPart& row : block->rows()) collect(cells, row.key, row.cells);
  }
  return Played{{}, step.expect == nullptr ? "" : compare_cells(cells, *step.expect)};
}

Player::Answer Player::play_conditional(const Step& step) {
  return step.verb == "check_and_mutate" ? check_and_mutate(step) : read_modify_write(step);
}

Player::Answer Player::check_and_mutate(const Step& step) {
  const auto& object = step.value.as_object();
  client::CheckAndMutate check;
  TRY(check.row, parse_bytes(object.at("row")));
  if (const auto* filter = object.if_contains("filter")) {
    TRY(check.filter, parse_filter(*filter));
  }
  if (const auto* ops = object.if_contains("then")) {
    TRY(check.then_mutation, parse_mutation(check.row, *ops));
  }
  if (const auto* ops = object.if_contains("else")) {
    TRY(check.else_mutation, parse_mutation(check.row, *ops));
  }
  TRY(check.token, token_of(object));
  const auto reply = client().check_and_mutate(table_of(object), check);
  if (!reply) return Played{reply.error(), ""};
  if (step.expect != nullptr && reply->matched != step.expect->as_bool()) {
    return Played{{}, fmt::format("matched is {}, expected {}", reply->matched, !reply->matched)};
  }
  return Played();
}

Player::Answer Player::read_modify_write(const Step& step) {
  const auto& object = step.value.as_object();
  client::ReadModifyWrite modify;
  TRY(modify.row, parse_bytes(object.at("row")));
  for (const auto& value : object.at("rules").as_array()) {
    TRY(client::ModifyRule rule, parse_modify(value));
    modify.rules.push_back(std::move(rule));
  }
  TRY(modify.token, token_of(object));
  const auto row = client().read_modify_write(table_of(object), modify);
  if (!row) return Played{row.error(), ""};
  std::vector<ReadCell> cells;
  collect(cells, row->key(), row->cells());
  return Played{{}, step.expect == nullptr ? "" : compare_cells(cells, *step.expect)};
}

}  // namespace cellar::cases
