// The expiry of cells in words (SEMANTICS 6, explain): when and why each one expires or expired.
#pragma once

#include <map>
#include <string>

#include "net/cli/session/session.h"

namespace cellar::cli {

// For one table. The first explained cell of a family fetches its rules and the time from the node;
// without a reply it names causes instead of clauses.
class CellExplainer {
 public:
  CellExplainer(Session& session, std::string table)
      : session_(session), table_(std::move(table)) {}

  // "lives on", "dies 2026-11-23T10:00:00Z (in 2 d 0 h) by maxage=2d", "dead since
  // 2026-11-21T10:00:00Z (3 min 12 s ago): pushed out by maxversions=3". REQUIRES: explained.
  std::string text(const client::Cell& cell);
  // The same as members of a JSON object: `,"dead":true,"cause":"max_age",...`.
  std::string json(const client::Cell& cell);

 private:
  const client::RuleHistory& history(Bytes family);
  // The deciding clause of the rule then in force; empty if unknown.
  std::string clause(const client::Cell& cell);

  Session& session_;
  const std::string table_;
  std::map<std::string, client::RuleHistory, std::less<>> histories_;
};

}  // namespace cellar::cli
