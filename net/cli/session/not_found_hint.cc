#include "net/cli/session/not_found_hint.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/cli/text/suggest.h"

namespace cellar::cli {
namespace {

// What the message has between `before` and the next quote.
std::optional<std::string> quoted_after(std::string_view message, std::string_view before) {
  const size_t at = message.find(before);
  if (at == message.npos) return std::nullopt;
  const size_t begin = at + before.size();
  const size_t end = message.find('\'', begin);
  if (end == message.npos) return std::nullopt;
  return std::string(message.substr(begin, end - begin));
}

std::vector<std::string> tables_of(client::SyncClient& client) {
  std::vector<std::string> names;
  const auto tables = client.list_tables();
  if (!tables) return names;
  for (const client::TableSummary& one : *tables) names.push_back(one.name);
  return names;
}

std::vector<std::string> families_of(client::SyncClient& client, const std::string& table) {
  std::vector<std::string> names;
  const auto described = client.describe_table(table);
  if (!described) return names;
  for (const auto& one : described->families) names.push_back(one.name);
  return names;
}

std::vector<std::string> indexes_of(client::SyncClient& client, const std::string& table) {
  std::vector<std::string> names;
  const auto described = client.describe_table(table);
  if (!described) return names;
  for (const auto& one : described->indexes) names.push_back(one.name);
  return names;
}

std::string similar_name(std::string_view message, client::SyncClient& client) {
  const auto table = quoted_after(message, "table '");
  if (!table) return "";
  if (const auto index = quoted_after(message, "' has no index '")) {
    return nearest(*index, indexes_of(client, *table));
  }
  if (const auto family = quoted_after(message, "' has no family '")) {
    return nearest(*family, families_of(client, *table));
  }
  if (!message.contains("' does not exist")) return "";
  const auto family = quoted_after(message, "family '");
  return family ? nearest(*family, families_of(client, *table))
                : nearest(*table, tables_of(client));
}

}  // namespace

Error with_suggestion(Error error, client::SyncClient& client) {
  const std::string near = similar_name(error.message, client);
  if (!near.empty()) error.message += "; did you mean '" + near + "'?";
  return error;
}

}  // namespace cellar::cli
