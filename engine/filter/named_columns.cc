#include "engine/filter/named_columns.h"

#include <algorithm>
#include <iterator>

namespace cellar::engine {
namespace {

using Names = std::vector<std::string>;

bool is_literal(char c) {
  constexpr std::string_view kPlain = "_-:/=,@ #%&;<>~'\"!`";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kPlain.find(c) != std::string_view::npos;
}

// It means itself after a backslash; letters and digits do not.
bool is_escapable(char c) {
  constexpr std::string_view kSpecial = ".+*?()[]{}|^$\\/-_:";
  return kSpecial.find(c) != std::string_view::npos;
}

// The names that the expression matches, if it consists of words separated by `|`.
std::optional<Names> words_of(const std::string& regex) {
  Names words(1);
  for (size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    if (c == '|') {
      words.emplace_back();
    } else if (is_literal(c)) {
      words.back().push_back(c);
    } else if (c == '\\' && i + 1 < regex.size() && is_escapable(regex[i + 1])) {
      words.back().push_back(regex[++i]);
    } else {
      return std::nullopt;
    }
  }
  const bool empty =
      std::any_of(words.begin(), words.end(), [](const auto& w) { return w.empty(); });
  if (empty || words.size() > kMostNamedColumns) return std::nullopt;
  return words;
}

std::optional<ColumnName> column_of(const FilterNode& n) {
  const bool closed = n.has_start && !n.start_open && n.has_end;
  if (!closed || n.family.empty() || n.family.find('\0') != std::string::npos) return std::nullopt;
  const std::string end = n.end_closed ? n.end_text + '\0' : n.end_text;
  if (end != n.text + '\0') return std::nullopt;
  return ColumnName{n.family, n.text};
}

class Namer {
 public:
  explicit Namer(const std::vector<FilterNode>& nodes) : nodes_(nodes) {}

  // Processes the subtree at `at_` and moves `at_` past it.
  std::optional<NamedColumns> node() {
    const FilterNode& n = nodes_[at_++];
    switch (n.kind) {
      case FilterKind::chain:
        return chain(n);
      case FilterKind::interleave:
      case FilterKind::condition:
        return branches(n);
      case FilterKind::block:
        return NamedColumns();
      case FilterKind::column_range:
        if (auto column = column_of(n)) return NamedColumns{*std::move(column)};
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

 private:
  // Later stages do not see each column separately.
  static bool mixes(FilterKind kind) {
    return kind == FilterKind::sink || kind == FilterKind::interleave ||
           kind == FilterKind::condition || kind == FilterKind::cells_per_row ||
           kind == FilterKind::cells_per_row_offset;
  }

  // For a nested chain: mixing in it applies to the outer one too.
  std::optional<NamedColumns> chain(const FilterNode& n) {
    std::optional<NamedColumns> named;
    std::optional<Names> families;
    std::optional<Names> qualifiers;
    for (uint32_t child = 0; child < n.child_count; ++child) {
      const FilterNode& stage = nodes_[at_];
      const bool over = over_;
      auto found = node();
      if (over) continue;
      if (stage.kind == FilterKind::family_regex && !families) families = words_of(stage.text);
      if (stage.kind == FilterKind::qualifier_regex && !qualifiers) {
        qualifiers = words_of(stage.text);
      }
      if (!named) named = std::move(found);
      if (!named && families && qualifiers) named = product(*families, *qualifiers);
      over_ = over_ || mixes(stage.kind);
    }
    return named;
  }

  std::optional<NamedColumns> branches(const FilterNode& n) {
    NamedColumns all;
    bool known = true;
    const bool over = over_;
    for (uint32_t child = 0; child < n.child_count; ++child) {
      over_ = false;
      auto found = node();
      known = known && found;
      if (known) all.insert(all.end(), found->begin(), found->end());
    }
    over_ = over;
    if (!known || all.size() > kMostNamedColumns) return std::nullopt;
    return all;
  }

  static std::optional<NamedColumns> product(const Names& families, const Names& qualifiers) {
    if (families.size() * qualifiers.size() > kMostNamedColumns) return std::nullopt;
    NamedColumns columns;
    for (const std::string& family : families)
      for (const std::string& qualifier : qualifiers) columns.push_back({family, qualifier});
    return columns;
  }

  const std::vector<FilterNode>& nodes_;
  size_t at_ = 0;
  bool over_ = false;  // in the current branch nothing more can be named
};

}  // namespace

std::optional<std::string> literal_of(const std::string& regex) {
  auto words = words_of(regex);
  if (!words || words->size() != 1) return std::nullopt;
  return std::move(words->front());
}

void normalize(NamedColumns& columns) {
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
}

std::optional<NewestOf> newest_of(const FilterSpec& spec) {
  NewestOf found;
  std::optional<std::string> family;
  std::optional<std::string> qualifier;
  size_t at = 0;
  const auto stage = [&]() -> bool {
    const FilterNode& n = spec.nodes[at++];
    if (n.kind == FilterKind::cells_per_column) {
      if (found.versions != 0 || n.start < 1 || n.start > UINT32_MAX) return false;
      found.versions = static_cast<uint32_t>(n.start);
      return true;
    }
    if (n.kind == FilterKind::family_regex || n.kind == FilterKind::qualifier_regex) {
      std::optional<std::string>& name = n.kind == FilterKind::family_regex ? family : qualifier;
      if (name) return false;
      name = literal_of(n.text);
      return name.has_value();
    }
    const size_t branches = n.kind == FilterKind::interleave ? n.child_count : 1;
    if (!found.columns.empty() || branches > kMostNamedColumns) return false;
    if (n.kind != FilterKind::interleave) --at;
    for (size_t i = 0; i < branches; ++i) {
      const FilterNode& branch = spec.nodes[at++];
      if (branch.kind != FilterKind::column_range) return false;
      auto column = column_of(branch);
      if (!column) return false;
      found.columns.push_back(*std::move(column));
    }
    return true;
  };
  if (spec.empty()) return std::nullopt;
  const bool chain = spec.nodes.front().kind == FilterKind::chain;
  const size_t stages = chain ? spec.nodes.front().child_count : 1;
  if (chain) ++at;
  for (size_t i = 0; i < stages; ++i) {
    if (!stage()) return std::nullopt;
  }
  if (family.has_value() != qualifier.has_value()) return std::nullopt;
  if (family && !found.columns.empty()) return std::nullopt;
  if (family) found.columns.push_back({*std::move(family), *std::move(qualifier)});
  const size_t branches = found.columns.size();
  normalize(found.columns);
  // A column that is named twice is passed twice.
  if (found.columns.empty() || found.columns.size() != branches) return std::nullopt;
  return found;
}

std::optional<NamedColumns> named_columns(const FilterSpec& spec) {
  if (spec.empty()) return std::nullopt;
  auto columns = Namer(spec.nodes).node();
  if (!columns || columns->empty()) return std::nullopt;
  normalize(*columns);
  return columns;
}

}  // namespace cellar::engine
