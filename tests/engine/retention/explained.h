// Compares explanations of deaths and previews of rules with the model. The clock of the model is
// moved instead of the node's, so every statement can be checked at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/model/schema.h"
#include "engine/preview_rule.h"
#include "tests/support/retention_model.h"
#include "tests/support/test_node.h"

namespace cellar::support {

// Checks a read of everything with include_dead, as of `now_us`. Returns the first difference, or
// nothing.
std::optional<std::string> check_explained(const std::vector<NotedCell>& cells,
                                           const RetentionModel& model, const TableSchema& schema,
                                           int64_t now_us);

// Checks an exact and an approximate preview of the change that turned the answer of one model into
// that of the other, both as of one moment.
std::optional<std::string> check_preview(const engine::PreviewReport& exact,
                                         const engine::PreviewReport& approximate,
                                         const std::vector<OwnedCell>& before,
                                         const std::vector<OwnedCell>& after);

}  // namespace cellar::support
