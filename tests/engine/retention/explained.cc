#include "tests/engine/retention/explained.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace cellar::support {
namespace {

// Bound of the model's search.
constexpr int64_t kFarUs = 8'000'000'000'000'000;

bool has(const std::vector<OwnedCell>& cells, const OwnedCell& cell) {
  return std::find(cells.begin(), cells.end(), cell) != cells.end();
}

std::string name(const NotedCell& noted) {
  const CellNote& note = noted.note;
  return fmt::format("{} {}:{} @{}, {} at {} by cause {} clause {}", noted.cell.row,
                     noted.cell.family, noted.cell.qualifier, noted.cell.timestamp_us,
                     note.dead ? "dead" : "dies", note.dies_at_us, static_cast<int>(note.cause),
                     note.clause);
}

std::optional<std::string> check_living(const NotedCell& noted, const RetentionModel& model,
                                        const TableSchema& schema, int64_t now_us) {
  const OwnedCell& cell = noted.cell;
  const CellNote& note = noted.note;
  const auto lives_at = [&](int64_t us) { return has(model.read_row(cell.row, us), cell); };
  if (note.dies_at_us <= now_us) return "it lives, and should have died";
  if (note.dies_at_us >= kFarUs) {
    if (!lives_at(kFarUs)) return "it dies, and should not";
    return std::nullopt;
  }
  if (!lives_at(note.dies_at_us - 1)) return "it dies earlier";
  if (lives_at(note.dies_at_us)) return "it dies later";
  if (note.cause == DeathCause::expiry) {
    if (note.dies_at_us == noted.note.expire_at_us + 1 && note.clause == kNoClause)
      return std::nullopt;
    return "it does not expire then";
  }
  // The passage of time kills by age only.
  if (note.cause != DeathCause::max_age) return "the cause cannot be";
  const auto& nodes = schema.find_family(cell.family)->rule.nodes;
  if (note.clause >= nodes.size()) return "there is no such clause";
  const RuleNode& node = nodes[note.clause];
  if (node.kind == RuleNode::Kind::max_age && note.dies_at_us != cell.timestamp_us + node.value + 1)
    return "its clause says another time";
  return std::nullopt;
}

std::optional<std::string> check_dead(const NotedCell& noted, const RetentionModel& model,
                                      const RetentionModel& loosened, int64_t now_us) {
  const OwnedCell& cell = noted.cell;
  const CellNote& note = noted.note;
  if (note.dies_at_us > now_us) return "it is dead, and has not died yet";
  if (has(model.read_row(cell.row, now_us), cell)) return "it lives";
  if (has(model.read_row(cell.row, note.dies_at_us), cell)) return "it died later";
  const bool comes_back = has(loosened.read_row(cell.row, now_us), cell);
  if (comes_back != (note.cause == DeathCause::hidden))
    return comes_back ? "it is only hidden" : "it is not hidden";
  const bool ruled = note.clause != kNoClause;
  const bool by_rule = note.cause == DeathCause::max_age || note.cause == DeathCause::max_versions;
  if (note.cause == DeathCause::none || (by_rule && !ruled)) return "the cause is missing";
  if (note.cause == DeathCause::expiry && note.expire_at_us >= now_us) return "it has not expired";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_explained(const std::vector<NotedCell>& cells,
                                           const RetentionModel& model, const TableSchema& schema,
                                           int64_t now_us) {
  RetentionModel loosened = model;
  const CommitStamp now{static_cast<uint64_t>(now_us) * 1000 + 999};
  for (const FamilySchema& family : schema.families)
    loosened.change_rule(now, now_us, family.name, RetentionRule{});
  std::vector<OwnedCell> living;
  for (const NotedCell& noted : cells) {
    if (!noted.note.dead) living.push_back(noted.cell);
    const auto wrong = noted.note.dead ? check_dead(noted, model, loosened, now_us)
                                       : check_living(noted, model, schema, now_us);
    if (wrong) return fmt::format("at {}: {}: {}", now_us, name(noted), *wrong);
  }
  const std::vector<OwnedCell> expected = model.read(now_us);
  if (living == expected) return std::nullopt;
  return fmt::format("at {}: of what lives the node tells\n{}and the model\n{}", now_us,
                     to_text(living), to_text(expected));
}

std::optional<std::string> check_preview(const engine::PreviewReport& exact,
                                         const engine::PreviewReport& approximate,
                                         const std::vector<OwnedCell>& before,
                                         const std::vector<OwnedCell>& after) {
  uint64_t cells = 0;
  std::set<std::string> rows;
  for (const OwnedCell& cell : before) {
    if (has(after, cell)) continue;
    ++cells;
    rows.insert(cell.row);
  }
  const engine::PreviewCount& count = exact.count;
  if (count.cells != cells || count.rows != rows.size())
    return fmt::format("the preview counts {} cells of {} rows, {} of {} are lost", count.cells,
                       count.rows, cells, rows.size());
  for (const std::string& sample : exact.samples)
    if (!rows.contains(sample)) return fmt::format("row '{}' loses nothing", sample);
  const auto within = [](uint64_t low, uint64_t x, uint64_t high) { return low <= x && x <= high; };
  const engine::PreviewCount& least = approximate.least;
  const engine::PreviewCount& most = approximate.most;
  for (const engine::PreviewCount* one : {&count, &approximate.count}) {
    if (within(least.cells, one->cells, most.cells) && within(least.rows, one->rows, most.rows) &&
        within(least.bytes, one->bytes, most.bytes))
      continue;
    return fmt::format("{} cells, {} rows, {} bytes: not within {} to {}, {} to {}, {} to {}",
                       one->cells, one->rows, one->bytes, least.cells, most.cells, least.rows,
                       most.rows, least.bytes, most.bytes);
  }
  return std::nullopt;
}

}  // namespace cellar::support
