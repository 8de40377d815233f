// Filter: a tree that selects the cells of a row that a read returns (SEMANTICS 6). A value type,
// built from the functions below. The server validates it.
//
//   Filter f = Filter::chain({Filter::family_regex("install"), Filter::cells_per_column(1)});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cellar::client {

struct Filter {
  // The numbers are on the wire.
  enum class Kind : uint8_t {
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
    std::optional<std::string> start, end;
    bool start_open = false;
    bool end_closed = false;
  };

  Kind kind = Kind::pass;
  // chain, interleave; condition: if, then the branches that the flags announce
  std::vector<Filter> children;
  bool has_then = false, has_else = false;
  std::string text;                         // regex, bitmask, label
  std::string family;                       // column_range
  Bounds bounds;                            // column_range, value_range
  std::optional<int64_t> start_us, end_us;  // time_range: [start, end)
  int64_t count = 0;
  double sample = 0;

  static Filter of(Kind kind) {
    Filter f;
    f.kind = kind;
    return f;
  }
  static Filter pass() { return of(Kind::pass); }
  static Filter block() { return of(Kind::block); }
  static Filter sink() { return of(Kind::sink); }
  static Filter strip_value() { return of(Kind::strip_value); }
  static Filter chain(std::vector<Filter> parts) { return tree(Kind::chain, std::move(parts)); }
  static Filter interleave(std::vector<Filter> parts) {
    return tree(Kind::interleave, std::move(parts));
  }
  static Filter condition(Filter predicate, std::optional<Filter> then,
                          std::optional<Filter> otherwise);
  static Filter regex(Kind kind, std::string pattern) { return worded(kind, std::move(pattern)); }
  static Filter value_bitmask(std::string mask) {
    return worded(Kind::value_bitmask, std::move(mask));
  }
  static Filter label(std::string name) { return worded(Kind::label, std::move(name)); }
  static Filter row_sample(double share);
  static Filter column_range(std::string family, Bounds bounds);
  static Filter value_range(Bounds bounds);
  static Filter time_range(std::optional<int64_t> start_us, std::optional<int64_t> end_us);
  // cells_per_row_offset, cells_per_row, cells_per_column
  static Filter counted(Kind kind, int64_t count);
  static Filter cells_per_column(int64_t count) { return counted(Kind::cells_per_column, count); }

 private:
  static Filter tree(Kind kind, std::vector<Filter> parts) {
    Filter f = of(kind);
    f.children = std::move(parts);
    return f;
  }
  static Filter worded(Kind kind, std::string text) {
    Filter f = of(kind);
    f.text = std::move(text);
    return f;
  }
};

}  // namespace cellar::client
