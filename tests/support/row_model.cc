#include "tests/support/row_model.h"

#include <algorithm>

namespace cellar::support {

Mutation OwnedMutation::view() const {
  Mutation m;
  m.kind = kind;
  m.family = family;
  m.qualifier = qualifier;
  m.value = value;
  m.timestamp_us = timestamp_us;
  m.start_us = start_us;
  m.end_us = end_us;
  m.expire_at_us = expire_at_us;
  m.ttl_us = ttl_us;
  return m;
}

std::string to_text(const std::vector<OwnedCell>& cells) {
  std::string out;
  for (const OwnedCell& cell : cells)
    out += fmt::format("{} {}:{} @{} = {}{}{}\n", escape_bytes(cell.row), cell.family,
                       escape_bytes(cell.qualifier), cell.timestamp_us, escape_bytes(cell.value),
                       cell.label.empty() ? "" : " ", cell.label);
  return out;
}

void RowModel::mutate(CommitStamp stamp, std::string row, std::vector<OwnedMutation> ops,
                      int64_t now_us) {
  commits_.push_back({stamp, std::move(row), std::move(ops), now_us, std::nullopt, {}});
}

void RowModel::drop_rows(CommitStamp stamp, std::string start, std::string end) {
  commits_.push_back({stamp, {}, {}, 0, KeyRange{std::move(start), std::move(end)}, {}});
}

void RowModel::drop_family(CommitStamp stamp, std::string family) {
  commits_.push_back({stamp, {}, {}, 0, std::nullopt, std::move(family)});
}

void RowModel::apply(const Commit& commit, State& state) const {
  if (commit.dropped) {
    std::erase_if(state, [&](const auto& entry) { return commit.dropped->contains(entry.first); });
    return;
  }
  if (!commit.dropped_family.empty()) {
    for (auto& [name, row] : state)
      std::erase_if(row,
                    [&](const auto& entry) { return entry.first.first == commit.dropped_family; });
    return;
  }
  Row& row = state[commit.row];
  for (const OwnedMutation& op : commit.ops) {
    switch (op.kind) {
      case Mutation::Kind::set_cell: {
        int64_t t = op.timestamp_us;
        if (t == kServerStamped)
          t = commit.now_us / granule_us(granularity_) * granule_us(granularity_);
        row[{op.family, op.qualifier}][t] = op.value;
        break;
      }
      case Mutation::Kind::delete_from_column:
        std::erase_if(row[{op.family, op.qualifier}], [&](const auto& version) {
          return version.first >= op.start_us &&
                 (op.end_us == kMaxTimestampUs || version.first < op.end_us);
        });
        break;
      case Mutation::Kind::delete_from_family:
        std::erase_if(row, [&](const auto& entry) { return entry.first.first == op.family; });
        break;
      case Mutation::Kind::delete_from_row:
        row.clear();
        break;
    }
  }
}

RowModel::State RowModel::replay(CommitStamp at) const {
  State state;
  for (const Commit& commit : commits_)
    if (commit.stamp <= at) apply(commit, state);
  return state;
}

std::vector<OwnedCell> RowModel::read(const ReadSpec& spec, CommitStamp at) const {
  const State state = replay(at);
  std::vector<std::string> names;
  for (const auto& [name, row] : state) {
    const bool wanted = std::any_of(spec.rows.ranges().begin(), spec.rows.ranges().end(),
                                    [&](const KeyRange& range) { return range.contains(name); });
    if (wanted) names.push_back(name);
  }
  if (spec.reversed) std::reverse(names.begin(), names.end());

  std::vector<OwnedCell> out;
  uint64_t rows = 0;
  for (const std::string& name : names) {
    const size_t before = out.size();
    for (const auto& [column, versions] : state.at(name)) {
      uint32_t taken = 0;
      for (const auto& [timestamp_us, value] : versions) {
        if (!spec.time_range.contains(timestamp_us)) continue;
        if (spec.versions != 0 && taken == spec.versions) break;
        ++taken;
        out.push_back({name, column.first, column.second, timestamp_us, value});
      }
    }
    if (out.size() > before && ++rows == spec.row_limit) break;
  }
  return out;
}

}  // namespace cellar::support
