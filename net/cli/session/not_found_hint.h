// Suggestions for misspelt names of tables, families and indexes.
#pragma once

#include "io/base/result.h"
#include "net/client/sync_client.h"

namespace cellar::cli {

// A NOT_FOUND, with "; did you mean 'events'?" if it says that a table, family or index does not
// exist and the node has one with a similar name. Asks the node; without an answer the error is
// unchanged.
Error with_suggestion(Error error, client::SyncClient& client);

}  // namespace cellar::cli
