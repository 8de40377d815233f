// Output of results as text and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/cli/print/cell_explainer.h"
#include "net/cli/session/session.h"
#include "net/cli/text/columns.h"
#include "net/cli/text/text.h"

namespace cellar::cli {

// Prints rows as the blocks of a read arrive; joins a row that spans blocks.
class RowPrinter {
 public:
  // With `explainer` (must outlive it), also prints when each cell expires.
  RowPrinter(const Session& session, ColumnChoice choice, bool keys_only,
             CellExplainer* explainer = nullptr)
      : session_(session),
        choice_(std::move(choice)),
        keys_only_(keys_only),
        explainer_(explainer) {}

  // Prints up to `limit` rows (0: no limit); returns false when that is reached.
  bool block(const client::CellBlock& block, uint64_t limit);
  void row(Bytes key, std::span<const client::Cell> cells);
  // The answer to a read of one row; with `explainer`, also how many runs of tables it opens.
  void row(const client::Row& row);

  uint64_t rows() const { return rows_; }
  uint64_t cells() const { return cells_; }

 private:
  struct OwnCell {
    std::string family, qualifier, value, labels;
    int64_t timestamp_us;
    int64_t expire_at_us;
    std::optional<client::Explanation> explained;
  };
  void part(const client::RowPart& part);
  void print_plain(Bytes key, const std::vector<const client::Cell*>& cells);
  void print_json(Bytes key, const std::vector<const client::Cell*>& cells);

  const Session& session_;
  ColumnChoice choice_;
  bool keys_only_;
  CellExplainer* explainer_;
  client::RunCount runs_;
  uint64_t rows_ = 0;
  uint64_t cells_ = 0;
  std::string open_row_;
  std::vector<OwnCell> open_cells_;  // of an incomplete row
};

void print_tables(const Session& session, const std::vector<client::TableSummary>& tables);
// Prints dropped tables that can be restored.
void print_dropped_tables(const Session& session, const std::vector<client::TableSummary>& tables);
void print_table(const Session& session, const client::TableDescription& table);

// One tablet as JSON, and tablets as lines under headings.
std::string tablet_json(const client::TabletDescription& tablet);
Lines tablet_lines(const Session& session, const std::vector<client::TabletDescription>& tablets);
// The bounds of a tablet, where an empty row is the first or the end.
std::string first_row_text(const Session& session, const std::string& row);
std::string last_row_text(const Session& session, const std::string& row);

void print_samples(const Session& session, const std::vector<client::SplitPoint>& samples);
void print_info(const Session& session, const client::ServerInfo& info);

// Left-aligned columns separated by two blanks; the last one is not padded.
std::string aligned(const Lines& lines, size_t indent);

}  // namespace cellar::cli
