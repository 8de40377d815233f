#include <boost/json/serialize.hpp>

#include "tests/cases/player.h"

namespace cellar::cases {
namespace {

std::string show(const ReadCell& cell) {
  return fmt::format("[\"{}\", \"{}:{}\", {}, \"{}\"{}]", escape_bytes(cell.row), cell.family,
                     escape_bytes(cell.qualifier), cell.timestamp_us, escape_bytes(cell.value, 32),
                     cell.labels.empty() ? "" : ", " + cell.labels);
}

std::string join_labels(const json::array& labels) {
  std::string joined;
  for (const auto& label : labels) {
    if (!joined.empty()) joined += ',';
    joined += std::string_view(label.as_string());
  }
  return joined;
}

Result<bool> equal(const ReadCell& cell, const json::array& expect) {
  if (expect.size() < 4 || expect.size() > 5)
    return fail(Errc::invalid_argument, "a cell has four or five parts");
  TRY(const std::string row, parse_bytes(expect[0]));
  TRY(const auto column, parse_column(expect[1]));
  TRY(const std::string value, parse_bytes(expect[3]));
  const bool time = expect[2].is_null() || expect[2].to_number<int64_t>() == cell.timestamp_us;
  const std::string labels = expect.size() == 5 ? join_labels(expect[4].as_array()) : "";
  return time && row == cell.row && column.first == cell.family &&
         column.second == cell.qualifier && value == cell.value && labels == cell.labels;
}

}  // namespace

std::string compare_cells(const std::vector<ReadCell>& cells, const json::value& expect) {
  const auto& wanted = expect.as_array();
  for (size_t i = 0; i < std::max(cells.size(), wanted.size()); ++i) {
    if (i >= cells.size())
      return fmt::format("cell {} is missing: {}", i, json::serialize(wanted[i]));
    if (i >= wanted.size()) return fmt::format("cell {} was not expected: {}", i, show(cells[i]));
    const auto same = equal(cells[i], wanted[i].as_array());
    if (!same) return same.error().message;
    if (!*same)
      return fmt::format("cell {} is {}, expected {}", i, show(cells[i]),
                         json::serialize(wanted[i]));
  }
  return "";
}

}  // namespace cellar::cases
