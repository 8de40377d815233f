// Definitions and states of indexes as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "net/cli/session/session.h"
#include "net/cli/text/text.h"
#include "net/client/api/indexes.h"

namespace cellar::cli {

// `"index":"by_state","on":{...},...`: members of a JSON object.
std::string index_json(const client::IndexSpec& index);
// The same with the state of the index.
std::string index_state_json(const client::IndexDescription& index);

// One line per index under headings: the definitions of a table.
Lines index_lines(const Session& session, const std::vector<client::IndexSpec>& indexes);

// The columns of a list of indexes with their states, over all tables.
std::vector<std::string> index_state_headings();
std::vector<std::string> index_state_line(const Session& session, const std::string& table,
                                          const client::IndexDescription& index);

void print_index(const Session& session, const std::string& table,
                 const client::IndexDescription& index);
void print_index_check(const Session& session, const client::CheckIndex& asked,
                       const client::IndexCheck& told);

// "ready", or "40% built".
std::string index_state_text(const client::IndexDescription& index);
double index_share_done(const client::IndexDescription& index);

}  // namespace cellar::cli
