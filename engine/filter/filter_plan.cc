#include <algorithm>

#include "engine/filter/compiled_filter.h"
#include "io/base/random.h"

namespace cellar::engine {
namespace {

bool has_regex(FilterKind kind) {
  return kind == FilterKind::row_regex || kind == FilterKind::family_regex ||
         kind == FilterKind::qualifier_regex || kind == FilterKind::value_regex;
}

std::string lower_bound(const FilterNode& n) {
  if (!n.has_start) return {};
  return n.start_open ? n.text + '\0' : n.text;
}

}  // namespace

// Divides the root chain of a valid filter into plan, gate, head and tail.
class FilterPlanner {
 public:
  explicit FilterPlanner(const FilterSpec& spec)
      : nodes_(spec.nodes), ends_(spec.nodes.size()), filter_(std::make_shared<CompiledFilter>()) {
    for (const FilterNode& n : nodes_) {
      if (!has_regex(n.kind)) continue;
      ++regex_count_;
      regex_bytes_ += n.text.size();
    }
    find_ends();
    const auto samples = [](const FilterNode& n) { return n.kind == FilterKind::row_sample; };
    if (std::any_of(nodes_.begin(), nodes_.end(), samples)) filter_->seed_ = entropy_seed();
  }

  Result<FilterPlan> run(const FilterSpec& spec, PushDown push_down) {
    std::vector<uint32_t> stages;
    if (push_down == PushDown::yes) {
      filter_->columns_ = named_columns(spec);
      filter_->newest_ = newest_of(spec);
      flatten(0, stages);
    } else {
      stages.push_back(0);
    }
    size_t at = 0;
    for (; at < stages.size(); ++at) {
      if (push_down == PushDown::no || branches(nodes_[stages[at]].kind)) break;
      TRY_VOID(place(stages[at]));
    }
    TRY_VOID(make_tail(stages, at));
    const CompiledFilter& f = *filter_;
    if (!f.row_gate_.empty() || !f.column_gate_.empty() || f.has_range_ || !f.head_.empty() ||
        !f.tail_.empty()) {
      plan_.filter = std::move(filter_);
    }
    return std::move(plan_);
  }

 private:
  static bool branches(FilterKind kind) {
    return kind == FilterKind::interleave || kind == FilterKind::condition ||
           kind == FilterKind::sink;
  }

  // The end of each subtree; children follow their parent.
  void find_ends() {
    for (size_t i = nodes_.size(); i > 0; --i) {
      auto end = static_cast<uint32_t>(i);
      for (uint32_t child = 0; child < nodes_[i - 1].child_count; ++child) end = ends_[end];
      ends_[i - 1] = end;
    }
  }

  // The stages of the chain at `index`, with nested chains flattened.
  void flatten(uint32_t index, std::vector<uint32_t>& stages) const {
    if (nodes_[index].kind != FilterKind::chain) return stages.push_back(index);
    for (uint32_t child = index + 1; child < ends_[index]; child = ends_[child])
      flatten(child, stages);
  }

  Result<CompiledFilter::Node> compile(uint32_t index) {
    CompiledFilter::Node node;
    node.spec = nodes_[index];
    node.number = index;
    if (has_regex(node.spec.kind)) {
      const size_t share = regex_memory_share(node.spec.text.size(), regex_count_, regex_bytes_);
      const std::string what =
          fmt::format("filter node {}, {}", index, filter_kind_name(node.spec.kind));
      TRY(node.regex, ByteRegex::compile(node.spec.text, share, what));
    }
    if (node.spec.kind == FilterKind::label) {
      filter_->labels_.push_back(node.spec.text);
      node.label = static_cast<uint16_t>(filter_->labels_.size());
    }
    return node;
  }

  // Places a stage before the tail; compiled_filter.h defines the sound moves.
  Result<void> place(uint32_t index) {
    const FilterNode& n = nodes_[index];
    switch (n.kind) {
      case FilterKind::pass:
        return {};
      case FilterKind::block:
        plan_.nothing = true;
        return {};
      case FilterKind::row_regex:
      case FilterKind::row_sample:
        return gate_row(index);
      case FilterKind::family_regex:
      case FilterKind::qualifier_regex:
        return row_counted_ ? add_to(filter_->head_, index) : gate_column(index);
      case FilterKind::column_range:
        if (row_counted_) return add_to(filter_->head_, index);
        narrow_columns(n);
        return {};
      case FilterKind::time_range:
        if (row_counted_ || versions_kept_ || plan_.versions != 0) break;
        narrow_times(n);
        return {};
      case FilterKind::cells_per_column:
        if (row_counted_ || versions_kept_ || times_kept_ || values_judged_) break;
        narrow_versions(n);
        return {};
      default:
        break;
    }
    times_kept_ |= n.kind == FilterKind::time_range;
    versions_kept_ |= n.kind == FilterKind::cells_per_column;
    row_counted_ |=
        n.kind == FilterKind::cells_per_row || n.kind == FilterKind::cells_per_row_offset;
    values_judged_ |= n.kind == FilterKind::value_regex || n.kind == FilterKind::value_range ||
                      n.kind == FilterKind::value_bitmask;
    return add_to(filter_->head_, index);
  }

  Result<void> add_to(std::vector<CompiledFilter::Node>& nodes, uint32_t index) {
    TRY(CompiledFilter::Node node, compile(index));
    nodes.push_back(std::move(node));
    return {};
  }

  Result<void> gate_row(uint32_t index) {
    TRY_VOID(add_to(filter_->row_gate_, index));
    const auto& regex = filter_->row_gate_.back().regex;
    if (!regex) return {};
    KeyRange possible = regex->possible_range();
    plan_.rows.start = std::max(plan_.rows.start, possible.start);
    if (plan_.rows.end.empty() || (!possible.end.empty() && possible.end < plan_.rows.end))
      plan_.rows.end = std::move(possible.end);
    if (plan_.rows.empty()) plan_.nothing = true;
    return {};
  }

  // A regex that only a literal matches is a range; any other stays, within the range of what it
  // may match.
  Result<void> gate_column(uint32_t index) {
    const FilterNode& n = nodes_[index];
    const std::optional<std::string> literal = literal_of(n.text);
    if (n.kind == FilterKind::family_regex) {
      if (!literal) return add_to(filter_->column_gate_, index);
      narrow_family(*literal);
      return {};
    }
    if (literal) {
      narrow_qualifiers(*literal, *literal + '\0');
      return {};
    }
    TRY_VOID(add_to(filter_->column_gate_, index));
    KeyRange possible = filter_->column_gate_.back().regex->possible_range();
    if (possible.start.empty() && possible.end.empty()) return {};
    narrow_qualifiers(possible.start,
                      possible.end.empty() ? std::nullopt : std::optional(possible.end));
    return {};
  }

  void narrow_columns(const FilterNode& n) {
    narrow_family(n.family);
    std::optional<std::string> end;
    if (n.has_end) end = n.end_closed ? n.end_text + '\0' : n.end_text;
    narrow_qualifiers(lower_bound(n), std::move(end));
  }

  void narrow_family(const std::string& family) {
    CompiledFilter& f = *filter_;
    if (f.in_one_family_ && f.range_family_ != family) plan_.nothing = true;
    // No family has such a name, and its encoded order would differ from the name's.
    if (family.find('\0') != std::string::npos) plan_.nothing = true;
    f.has_range_ = f.in_one_family_ = true;
    f.range_family_ = family;
  }

  // `end`: exclusive; empty: none.
  void narrow_qualifiers(std::string start, std::optional<std::string> end) {
    CompiledFilter& f = *filter_;
    f.has_range_ = true;
    f.range_start_ = std::max(f.range_start_, std::move(start));
    if (end) {
      f.range_end_ = f.has_range_end_ ? std::min(f.range_end_, *end) : *std::move(end);
      f.has_range_end_ = true;
    }
    if (f.has_range_end_ && f.range_start_ >= f.range_end_) plan_.nothing = true;
  }

  void narrow_times(const FilterNode& n) {
    TimeRange& range = plan_.time_range;
    if (n.has_start) range.start_us = std::max(range.start_us, n.start);
    if (n.has_end) range.end_us = std::min(range.end_us, n.end);
    if (range.end_us <= range.start_us && range.end_us != kMaxTimestampUs) plan_.nothing = true;
  }

  void narrow_versions(const FilterNode& n) {
    const auto count = static_cast<uint32_t>(std::min<int64_t>(n.start, UINT32_MAX));
    plan_.versions = plan_.versions == 0 ? count : std::min(plan_.versions, count);
  }

  Result<void> make_tail(const std::vector<uint32_t>& stages, size_t from) {
    if (from == stages.size()) return {};
    auto& tail = filter_->tail_;
    if (stages.size() - from > 1) {
      CompiledFilter::Node chain;
      chain.spec.kind = FilterKind::chain;
      chain.spec.child_count = static_cast<uint32_t>(stages.size() - from);
      tail.push_back(std::move(chain));
    }
    for (size_t i = from; i < stages.size(); ++i) {
      const auto shift = static_cast<uint32_t>(tail.size()) - stages[i];
      for (uint32_t index = stages[i]; index < ends_[stages[i]]; ++index) {
        TRY_VOID(add_to(tail, index));
        tail.back().end = ends_[index] + shift;
        filter_->needs_row_ |= nodes_[index].kind == FilterKind::condition;
      }
    }
    if (stages.size() - from > 1) tail.front().end = static_cast<uint32_t>(tail.size());
    return {};
  }

  const std::vector<FilterNode>& nodes_;
  std::vector<uint32_t> ends_;
  size_t regex_count_ = 0;
  size_t regex_bytes_ = 0;
  bool row_counted_ = false;    // the head has a count over the row
  bool versions_kept_ = false;  // the head has a limit per column
  bool times_kept_ = false;
  bool values_judged_ = false;
  std::shared_ptr<CompiledFilter> filter_;
  FilterPlan plan_;
};

Result<FilterPlan> plan_filter(const FilterSpec& spec, PushDown push_down) {
  if (spec.empty()) return FilterPlan();
  TRY_VOID(validate_filter(spec));
  return FilterPlanner(spec).run(spec, push_down);
}

void FilterPlan::narrow(ReadSpec& spec) const {
  TimeRange& range = spec.time_range;
  range.start_us = std::max(range.start_us, time_range.start_us);
  range.end_us = std::min(range.end_us, time_range.end_us);
  if (versions != 0)
    spec.versions = spec.versions == 0 ? versions : std::min(spec.versions, versions);
  if (nothing) {
    spec.rows = RowSet();
  } else if (!rows.start.empty() || !rows.end.empty()) {
    spec.rows = spec.rows.clip(rows.start, rows.end);
  }
  spec.filter = filter;
}

}  // namespace cellar::engine
