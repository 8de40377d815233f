// What a read through an index must answer, from what a scan of the table answers (SEMANTICS 11.2):
// the cells that are in the index, as far as they meet the conditions, in the order of the index.
// Independent of the encoding of entries.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/index_scan.h"
#include "engine/model/index_read_spec.h"
#include "io/base/coding.h"
#include "tests/support/row_model.h"

namespace cellar::support {

class IndexModel {
 public:
  // `cells`: everything that a scan answers at `now_us`.
  IndexModel(const IndexSchema& index, std::vector<OwnedCell> cells, int64_t now_us)
      : index_(index), cells_(std::move(cells)), now_us_(now_us) {}

  // One list of cells for each hit. `rows`: those that the filter of whole rows passes.
  std::vector<std::vector<OwnedCell>> read(const IndexReadSpec& spec) const {
    std::vector<const OwnedCell*> hits;
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (is_in_index(i) && meets(cells_[i], spec)) hits.push_back(&cells_[i]);
    }
    std::ranges::sort(hits, [&](const OwnedCell* a, const OwnedCell* b) {
      return spec.reversed ? rank(*a) > rank(*b) : rank(*a) < rank(*b);
    });
    std::vector<std::vector<OwnedCell>> answer;
    std::vector<std::string> rows;
    for (const OwnedCell* hit : hits) {
      if (!spec.whole_rows) {
        answer.push_back(with_covered(*hit));
      } else if (std::ranges::find(rows, hit->row) == rows.end()) {
        rows.push_back(hit->row);
        answer.push_back(row_of(hit->row, spec.row.versions));
      }
    }
    return answer;
  }

  // The index's own age ends the finding of some cell between these two times.
  bool changes_between(int64_t from_us, int64_t to_us) const {
    return std::ranges::any_of(cells_, [&](const OwnedCell& cell) {
      return is_young(cell, from_us) != is_young(cell, to_us);
    });
  }

 private:
  bool is_young(const OwnedCell& cell, int64_t now_us) const {
    return !index_.max_age_us || now_us - cell.timestamp_us <= *index_.max_age_us;
  }

  static bool same_column(const OwnedCell& a, const OwnedCell& b) {
    return a.row == b.row && a.family == b.family && a.qualifier == b.qualifier;
  }

  bool is_in_index(size_t i) const {
    const OwnedCell& cell = cells_[i];
    if (cell.family != index_.family) return false;
    if (index_.qualifier && cell.qualifier != *index_.qualifier) return false;
    if (index_.match == IndexMatch::newest && i > 0 && same_column(cells_[i - 1], cell))
      return false;
    if (index_.has(cellar::IndexPart::value) && index_.type == IndexType::int64 &&
        cell.value.size() != 8)
      return false;
    return is_young(cell, now_us_);
  }

  static int64_t number(const std::string& value) {
    return static_cast<int64_t>(load_be64(value.data()));
  }
  // Bounds compare as numbers or as bytes.
  bool is_in(const KeyPartRange& range, const std::string& value, bool as_number) const {
    const auto order = [&](const std::string& bound) {
      return as_number ? number(value) <=> number(bound) : value <=> bound;
    };
    if (range.start && (range.start_open ? order(*range.start) <= 0 : order(*range.start) < 0))
      return false;
    return !range.end || (range.end_closed ? order(*range.end) <= 0 : order(*range.end) < 0);
  }

  bool meets(const OwnedCell& cell, const IndexReadSpec& spec) const {
    const bool as_number = index_.type == IndexType::int64;
    if (spec.values && !is_in(*spec.values, cell.value, as_number)) return false;
    if (spec.qualifiers && !is_in(*spec.qualifiers, cell.qualifier, false)) return false;
    if (spec.time &&
        (cell.timestamp_us < spec.time->start_us ||
         (cell.timestamp_us >= spec.time->end_us && spec.time->end_us != kMaxTimestampUs)))
      return false;
    return std::ranges::any_of(spec.rows.ranges(),
                               [&](const KeyRange& range) { return range.contains(cell.row); });
  }

  std::vector<std::pair<int64_t, std::string>> rank(const OwnedCell& cell) const {
    std::vector<std::pair<int64_t, std::string>> parts;
    for (const cellar::IndexPart part : index_.parts) {
      if (part == cellar::IndexPart::time) {
        parts.emplace_back(-cell.timestamp_us, "");
      } else if (part == cellar::IndexPart::qualifier) {
        parts.emplace_back(0, cell.qualifier);
      } else if (index_.type == IndexType::int64) {
        parts.emplace_back(number(cell.value), "");
      } else {
        parts.emplace_back(0, cell.value.substr(0, 256));
      }
    }
    parts.emplace_back(0, cell.row);
    parts.emplace_back(0, cell.qualifier);
    parts.emplace_back(-cell.timestamp_us, "");
    return parts;
  }

  std::vector<OwnedCell> with_covered(const OwnedCell& hit) const {
    std::vector<OwnedCell> answer{hit};
    for (const IndexColumn& column : index_.covered) {
      const auto newest = std::ranges::find_if(cells_, [&](const OwnedCell& cell) {
        return cell.row == hit.row && cell.family == column.family &&
               cell.qualifier == column.qualifier;
      });
      if (newest != cells_.end()) answer.push_back(*newest);
    }
    return answer;
  }

  std::vector<OwnedCell> row_of(const std::string& row, uint32_t versions) const {
    std::vector<OwnedCell> answer;
    uint32_t taken = 0;
    for (const OwnedCell& cell : cells_) {
      if (cell.row != row) continue;
      taken = !answer.empty() && same_column(answer.back(), cell) ? taken + 1 : 1;
      if (versions == 0 || taken <= versions) answer.push_back(cell);
    }
    return answer;
  }

  const IndexSchema index_;
  const std::vector<OwnedCell> cells_;
  const int64_t now_us_;
};

}  // namespace cellar::support
