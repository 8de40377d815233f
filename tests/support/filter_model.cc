#include "tests/support/filter_model.h"

#include <algorithm>
#include <functional>
#include <map>
#include <regex>

#include "io/base/check.h"

namespace cellar::support {
namespace {

using Cells = std::vector<OwnedCell>;

bool before(const OwnedCell& a, const OwnedCell& b) {
  if (a.family != b.family) return a.family < b.family;
  if (a.qualifier != b.qualifier) return a.qualifier < b.qualifier;
  return a.timestamp_us > b.timestamp_us;
}

// Stable; favours simplicity over speed.
void sort_cells(Cells& cells) {
  Cells sorted;
  for (OwnedCell& cell : cells)
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), cell, before), std::move(cell));
  cells = std::move(sorted);
}

bool matches(const std::string& text, const std::string& pattern) {
  return std::regex_match(text, std::regex(pattern, std::regex::ECMAScript));
}

bool inside(const FilterNode& n, const std::string& text) {
  if (n.has_start && (text < n.text || (n.start_open && text == n.text))) return false;
  if (!n.has_end) return true;
  return text < n.end_text || (n.end_closed && text == n.end_text);
}

bool masked(const std::string& value, const std::string& mask) {
  if (value.size() != mask.size()) return false;
  for (size_t i = 0; i < value.size(); ++i) {
    const auto bits = static_cast<unsigned char>(mask[i]);
    if ((static_cast<unsigned char>(value[i]) & bits) != bits) return false;
  }
  return true;
}

Cells keep_if(const Cells& in, const std::function<bool(const OwnedCell&)>& wanted) {
  Cells out;
  for (const OwnedCell& cell : in)
    if (wanted(cell)) out.push_back(cell);
  return out;
}

class Evaluation {
 public:
  explicit Evaluation(const FilterSpec& spec) : nodes_(spec.nodes) {}

  Cells run(const Cells& row) {
    size_t at = 0;
    const Cells main = eval(at, row);
    sunk_.insert(sunk_.end(), main.begin(), main.end());
    sort_cells(sunk_);
    return sunk_;
  }

 private:
  void skip(size_t& at) const {
    const FilterNode& n = nodes_[at++];
    for (uint32_t i = 0; i < n.child_count; ++i) skip(at);
  }

  Cells eval(size_t& at, Cells cells) {
    const FilterNode& n = nodes_[at++];
    switch (n.kind) {
      case FilterKind::chain:
        for (uint32_t i = 0; i < n.child_count; ++i) cells = eval(at, std::move(cells));
        return cells;
      case FilterKind::interleave: {
        Cells pool;
        for (uint32_t i = 0; i < n.child_count; ++i) {
          const Cells branch = eval(at, cells);
          pool.insert(pool.end(), branch.begin(), branch.end());
        }
        sort_cells(pool);
        return pool;
      }
      case FilterKind::condition:
        return condition(n, at, cells);
      case FilterKind::sink:
        sunk_.insert(sunk_.end(), cells.begin(), cells.end());
        return {};
      default:
        return leaf(n, std::move(cells));
    }
  }

  Cells condition(const FilterNode& n, size_t& at, const Cells& cells) {
    const bool met = !eval(at, cells).empty();
    Cells out;
    if (n.has_then) {
      if (met) {
        out = eval(at, cells);
      } else {
        skip(at);
      }
    }
    if (n.has_else) {
      if (met) {
        skip(at);
      } else {
        out = eval(at, cells);
      }
    }
    return out;
  }

  static Cells leaf(const FilterNode& n, Cells cells) {
    const auto count = static_cast<size_t>(n.start);
    switch (n.kind) {
      case FilterKind::pass:
        return cells;
      case FilterKind::block:
        return {};
      case FilterKind::cells_per_row_offset:
        return count >= cells.size() ? Cells() : Cells(cells.begin() + n.start, cells.end());
      case FilterKind::cells_per_row:
        if (count < cells.size()) cells.resize(count);
        return cells;
      case FilterKind::cells_per_column:
        return newest(count, cells);
      case FilterKind::strip_value:
        for (OwnedCell& cell : cells) cell.value.clear();
        return cells;
      case FilterKind::label:
        for (OwnedCell& cell : cells) cell.label = n.text;
        return cells;
      default:
        return keep_if(cells, [&](const OwnedCell& cell) { return judge(n, cell); });
    }
  }

  static Cells newest(size_t count, const Cells& cells) {
    std::map<std::pair<std::string, std::string>, size_t> seen;
    return keep_if(cells, [&](const OwnedCell& cell) {
      return seen[{cell.family, cell.qualifier}]++ < count;
    });
  }

  static bool judge(const FilterNode& n, const OwnedCell& cell) {
    switch (n.kind) {
      case FilterKind::row_regex:
        return matches(cell.row, n.text);
      case FilterKind::family_regex:
        return matches(cell.family, n.text);
      case FilterKind::qualifier_regex:
        return matches(cell.qualifier, n.text);
      case FilterKind::value_regex:
        return matches(cell.value, n.text);
      case FilterKind::column_range:
        return cell.family == n.family && inside(n, cell.qualifier);
      case FilterKind::value_range:
        return inside(n, cell.value);
      case FilterKind::value_bitmask:
        return masked(cell.value, n.text);
      case FilterKind::time_range:
        return (!n.has_start || cell.timestamp_us >= n.start) &&
               (!n.has_end || cell.timestamp_us < n.end);
      default:
        UNREACHABLE("the model has no {}", filter_kind_name(n.kind));
    }
  }

  const std::vector<FilterNode>& nodes_;
  Cells sunk_;
};

std::string pick(Random& random, std::initializer_list<const char*> words) {
  return *(words.begin() + random.below(words.size()));
}

FilterSpec random_range(Random& random, FilterKind kind, std::initializer_list<const char*> words) {
  FilterNode n;
  n.kind = kind;
  n.has_start = !random.one_in(3);
  n.has_end = !random.one_in(3);
  n.start_open = random.one_in(2);
  n.end_closed = random.one_in(2);
  if (n.has_start) n.text = pick(random, words);
  if (n.has_end) n.end_text = pick(random, words);
  if (n.has_start && n.has_end && n.end_text < n.text) std::swap(n.text, n.end_text);
  if (kind == FilterKind::column_range) n.family = pick(random, {"f", "g", "g", "e", "h"});
  return filter_of(n);
}

FilterSpec random_leaf(Random& random) {
  using K = FilterKind;
  const auto count = static_cast<int64_t>(1 + random.below(random.one_in(2) ? 3 : 12));
  switch (random.below(20)) {
    case 0:
      return filter_of(filter_leaf(K::block));
    case 1:
      return filter_of(filter_leaf(K::sink));
    case 2:
      return filter_of(
          filter_leaf(K::row_regex, pick(random, {"a.*", "[bc]", "aa?", ".*", "c?d?", "a|b|e"})));
    case 3:
      return filter_of(filter_leaf(K::family_regex, pick(random, {"f", "g", ".", "[ef]", "h"})));
    case 4:
    case 5:
      return filter_of(filter_leaf(
          K::qualifier_regex, pick(random, {"q", "", "q?", "q[0-4].*", "q.*[37]", ".+", "q2."})));
    case 6:
    case 7:
      return random_range(random, K::column_range, {"", "q", "q05", "q1", "q17", "q2", "q29", "r"});
    case 8:
    case 9: {
      FilterNode n = filter_leaf(K::time_range);
      n.has_start = random.one_in(2);
      n.has_end = random.one_in(2);
      if (n.has_start) n.start = static_cast<int64_t>(random.below(6));
      if (n.has_end) n.end = n.start + 1 + static_cast<int64_t>(random.below(5));
      return filter_of(n);
    }
    case 10:
      return filter_of(
          filter_leaf(K::value_regex, pick(random, {"v.*[02468]", "v1.*", "", ".*7", "v[0-9]+"})));
    case 11:
      return random_range(random, K::value_range, {"", "v1", "v2", "v30", "v5", "w"});
    case 12:
      return filter_of(filter_leaf(K::value_bitmask, pick(random, {"v1", "v00", "v", "v11"})));
    case 13:
      return filter_of(filter_leaf(K::cells_per_row_offset, {}, count));
    case 14:
      return filter_of(filter_leaf(K::cells_per_row, {}, count * 2));
    case 15:
    case 16:
      return filter_of(filter_leaf(K::cells_per_column, {}, count));
    case 17:
      return filter_of(filter_leaf(K::strip_value));
    case 18:
      return filter_of(filter_leaf(K::label, pick(random, {"one", "two", "three"})));
    default:
      return filter_of(filter_leaf(K::pass));
  }
}

FilterSpec random_tree(Random& random, size_t levels) {
  if (levels <= 1 || random.one_in(4)) return random_leaf(random);
  std::vector<FilterSpec> children;
  for (uint64_t i = 0, n = 2 + random.below(3); i < n; ++i)
    children.push_back(random_tree(random, levels - 1));
  switch (random.below(5)) {
    case 0:
      return filter_condition(children[0], random.one_in(4) ? nullptr : &children[1],
                              children.size() > 2 ? &children[2] : nullptr);
    case 1:
    case 2:
      return filter_tree(FilterKind::interleave, children);
    default:
      return filter_tree(FilterKind::chain, children);
  }
}

void write_node(const FilterSpec& spec, size_t& at, std::string& out) {
  const FilterNode& n = spec.nodes[at++];
  out += filter_kind_name(n.kind);
  if (n.child_count > 0) {
    out += n.has_then ? "+then(" : "(";
    for (uint32_t i = 0; i < n.child_count; ++i) {
      if (i > 0) out += ", ";
      write_node(spec, at, out);
    }
    out += ")";
    return;
  }
  if (!n.family.empty()) out += " " + n.family;
  if (n.has_start || !n.text.empty())
    out += fmt::format(" {}'{}'/{}", n.start_open ? "(" : "[", escape_bytes(n.text), n.start);
  if (n.has_end)
    out += fmt::format("..'{}'/{}{}", escape_bytes(n.end_text), n.end, n.end_closed ? "]" : ")");
  if (!n.has_start && n.start != 0) out += fmt::format(" {}", n.start);
}

}  // namespace

std::vector<OwnedCell> filter_row(const FilterSpec& spec, const std::vector<OwnedCell>& row) {
  if (spec.empty()) return row;
  return Evaluation(spec).run(row);
}

std::vector<OwnedCell> filter_rows(const FilterSpec& spec, const std::vector<OwnedCell>& cells,
                                   uint64_t row_limit) {
  Cells all;
  uint64_t rows = 0;
  for (size_t at = 0; at < cells.size();) {
    Cells row;
    for (const std::string key = cells[at].row; at < cells.size() && cells[at].row == key; ++at)
      row.push_back(cells[at]);
    const Cells kept = filter_row(spec, row);
    all.insert(all.end(), kept.begin(), kept.end());
    if (!kept.empty() && ++rows == row_limit) break;
  }
  return all;
}

FilterNode filter_leaf(FilterKind kind, std::string text, int64_t count) {
  FilterNode n;
  n.kind = kind;
  n.text = std::move(text);
  n.start = count;
  return n;
}

FilterSpec filter_of(FilterNode node) {
  FilterSpec spec;
  spec.nodes.push_back(std::move(node));
  return spec;
}

FilterSpec filter_tree(FilterKind kind, const std::vector<FilterSpec>& children) {
  FilterSpec spec = filter_of(filter_leaf(kind));
  spec.nodes[0].child_count = static_cast<uint32_t>(children.size());
  for (const FilterSpec& child : children)
    spec.nodes.insert(spec.nodes.end(), child.nodes.begin(), child.nodes.end());
  return spec;
}

FilterSpec filter_condition(const FilterSpec& predicate, const FilterSpec* then,
                            const FilterSpec* otherwise) {
  std::vector<FilterSpec> children = {predicate};
  if (then != nullptr) children.push_back(*then);
  if (otherwise != nullptr) children.push_back(*otherwise);
  FilterSpec spec = filter_tree(FilterKind::condition, children);
  spec.nodes[0].has_then = then != nullptr;
  spec.nodes[0].has_else = otherwise != nullptr;
  return spec;
}

FilterSpec random_filter(Random& random, size_t levels) {
  while (true) {
    FilterSpec spec = random_tree(random, levels);
    if (validate_filter(spec)) return spec;
  }
}

std::string to_text(const FilterSpec& spec) {
  std::string out;
  size_t at = 0;
  if (!spec.empty()) write_node(spec, at, out);
  return out;
}

}  // namespace cellar::support
