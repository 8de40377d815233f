// Rows and cells: what is written, what is asked for, what is read. Values; bytes are in
// std::string. Times are microseconds since 1970, durations microseconds.
#pragma once

#include <cellar/export.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cellar {
CELLAR_VERSIONED {
  struct Cell {
    std::string family;
    std::string qualifier;
    std::int64_t timestamp_us = 0;
    std::string value;
    std::string labels;                        // of the filter, separated by commas
    std::optional<std::int64_t> expire_at_us;  // the cell's own expiry, if `with_expiry`
  };

  struct Row {
    std::string key;
    std::vector<Cell> cells;  // by family, qualifier, newest first
    // The newest cell of a column, or null.
    CELLAR_API const Cell* find(std::string_view family, std::string_view qualifier) const;
  };

  // The changes of one row, in the order of the calls. The node checks them.
  //
  //   Mutation m("com.example/index");
  //   m.set("page", "title", "Example").with_ttl(3'600'000'000).delete_column("page", "draft");
  class Mutation {
   public:
    enum class Kind : std::uint8_t {
      set = 1,
      delete_column = 2,
      delete_family = 3,
      delete_row = 4
    };
    struct Operation {
      Kind kind = Kind::set;
      std::string family, qualifier, value;
      std::optional<std::int64_t> timestamp_us;          // set; absent: the node's
      std::optional<std::int64_t> ttl_us, expire_at_us;  // set: at most one of them
      std::optional<std::int64_t> start_us, end_us;      // delete_column: [start, end)
    };

    explicit Mutation(std::string row) : row_(std::move(row)) {}

    CELLAR_API Mutation& set(std::string family, std::string qualifier, std::string value,
                             std::optional<std::int64_t> timestamp_us = {});
    // Of the cell that was set last: it dies this long after the commit, or at that time.
    CELLAR_API Mutation& with_ttl(std::int64_t ttl_us);
    CELLAR_API Mutation& with_expire_at(std::int64_t expire_at_us);
    // Versions in [start, end); an absent bound is open.
    CELLAR_API Mutation& delete_column(std::string family, std::string qualifier,
                                       std::optional<std::int64_t> start_us = {},
                                       std::optional<std::int64_t> end_us = {});
    CELLAR_API Mutation& delete_family(std::string family);
    CELLAR_API Mutation& delete_row();
    // 1 to 64 bytes: a repetition of the write with the same token and Options::client_id has no
    // further effect, as long as the node knows the token: for 15 minutes by default.
    // issued_us: when the write was first sent, in the node's time (Client::ping). With it, a
    // repetition that comes too late is refused (FAILED_PRECONDITION, maybe applied). 0: the time
    // of this call, so a repetition by another call that comes too late is applied again.
    CELLAR_API Mutation& with_token(std::string token, std::int64_t issued_us = 0);

    const std::string& row() const { return row_; }
    const std::vector<Operation>& operations() const { return operations_; }
    const std::optional<std::string>& token() const { return token_; }
    std::int64_t token_issued_us() const { return token_issued_us_; }

   private:
    std::string row_;
    std::vector<Operation> operations_;
    std::optional<std::string> token_;
    std::int64_t token_issued_us_ = 0;
  };

  // Selects cells of a row: a tree. The node checks it.
  //
  //   Filter newest = Filter::chain({Filter::family_regex("page"), Filter::cells_per_column(1)});
  struct Filter {
    enum class Kind : std::uint8_t {
      pass = 1,
      block = 2,
      sink = 3,
      chain = 4,
      interleave = 5,
      condition = 6,
      row_regex = 7,
      row_sample = 8,
      family_regex = 9,
      qualifier_regex = 10,
      column_range = 11,
      time_range = 12,
      value_regex = 13,
      value_range = 14,
      value_bitmask = 15,
      cells_per_row_offset = 16,
      cells_per_row = 17,
      cells_per_column = 18,
      strip_value = 19,
      label = 20,
    };
    struct Bounds {
      std::optional<std::string> start, end;  // absent: open
      bool start_open = false;
      bool end_closed = false;
    };

    Kind kind = Kind::pass;
    std::vector<Filter> children;  // chain, interleave; condition: if, then, else
    bool has_then = false, has_else = false;
    std::string text;                              // regex, bitmask, label
    std::string family;                            // column_range
    Bounds bounds;                                 // column_range, value_range
    std::optional<std::int64_t> start_us, end_us;  // time_range: [start, end)
    std::int64_t count = 0;
    double sample = 0;

    CELLAR_API static Filter pass();
    CELLAR_API static Filter block();
    CELLAR_API static Filter strip_value();
    CELLAR_API static Filter chain(std::vector<Filter> parts);
    CELLAR_API static Filter interleave(std::vector<Filter> parts);
    CELLAR_API static Filter condition(Filter predicate, std::optional<Filter> then,
                                       std::optional<Filter> otherwise);
    CELLAR_API static Filter row_regex(std::string pattern);
    CELLAR_API static Filter family_regex(std::string pattern);
    CELLAR_API static Filter qualifier_regex(std::string pattern);
    CELLAR_API static Filter value_regex(std::string pattern);
    CELLAR_API static Filter column_range(std::string family, Bounds bounds);
    CELLAR_API static Filter value_range(Bounds bounds);
    CELLAR_API static Filter time_range(std::optional<std::int64_t> start_us,
                                        std::optional<std::int64_t> end_us);
    CELLAR_API static Filter cells_per_column(std::int64_t count);
    CELLAR_API static Filter cells_per_row(std::int64_t count);
    CELLAR_API static Filter label(std::string name);
  };

  struct RowRange {
    std::optional<std::string> start, end;  // absent: open
    bool start_open = false;
    bool end_closed = false;
  };

  // The union of keys and ranges; without both: every row.
  struct ReadRows {
    std::vector<std::string> keys;
    std::vector<RowRange> ranges;
    std::optional<std::string> prefix;  // rows that begin with it, beside the others
    std::optional<Filter> filter;
    std::uint64_t row_limit = 0;  // 0: none
    bool reversed = false;
    bool with_expiry = false;  // Cell::expire_at_us
  };

  // What was committed.
  struct Commit {
    std::uint64_t stamp_ns = 0;     // 0: nothing was committed, or not known (repeated)
    std::int64_t timestamp_us = 0;  // of the cells without a timestamp of their own
    bool repeated = false;          // an earlier write with the same token was committed
  };

  struct CheckAndMutate {
    std::string row;
    std::optional<Filter> predicate;  // absent: does the row exist?
    Mutation then_mutation{""};       // if it matches; their rows are ignored
    Mutation else_mutation{""};
    std::optional<std::string> token;  // see Mutation::with_token
    std::int64_t token_issued_us = 0;
  };
  struct Checked {
    bool matched = false;
    Commit commit;
  };

  // Increments add to a big-endian 64-bit number, appends to the bytes, of the newest cell.
  struct ReadModifyWrite {
    struct Rule {
      std::string family, qualifier;
      std::optional<std::string> append;  // absent: increment
      std::int64_t increment_by = 0;
    };
    std::string row;
    std::vector<Rule> rules;
    std::optional<std::string> token;  // see Mutation::with_token
    std::int64_t token_issued_us = 0;

    explicit ReadModifyWrite(std::string key) : row(std::move(key)) {}
    CELLAR_API ReadModifyWrite& increment(std::string family, std::string qualifier,
                                          std::int64_t by = 1);
    CELLAR_API ReadModifyWrite& append(std::string family, std::string qualifier,
                                       std::string bytes);
  };
  struct Modified {
    Row row;  // the new cells
    Commit commit;
  };

  // A prefix, or bounds, each of which may be absent: [start, end).
  struct DropRows {
    std::optional<std::string> prefix, start, end;
    std::optional<std::string> token;  // see Mutation::with_token
    std::int64_t token_issued_us = 0;
  };

  // The number of an 8-byte big-endian value, as increments write it; empty for other values.
  CELLAR_API std::optional<std::int64_t> number_of(std::string_view value);

}  // namespace v0
}  // namespace cellar
