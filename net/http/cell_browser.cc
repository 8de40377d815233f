#include "net/http/cell_browser.h"

#include "engine/filter/compiled_filter.h"
#include "engine/read/scan.h"
#include "net/server/shard/clock_gate.h"

namespace cellar::http {

using engine::ScanStep;
using server::ShardServer;

namespace {

constexpr int64_t kLookAtTabletUs = 2'000;  // at a tablet that a change of rules holds

class Collector final : public CellSink {
 public:
  Collector(std::vector<BrowsedCell>& cells, size_t most) : cells_(cells), most_(most) {}

  Flow cell(const CellView& view) override {
    BrowsedCell cell;
    cell.row = view.row;
    cell.family = view.family;
    cell.qualifier = view.qualifier;
    cell.value = view.value.substr(0, kShownValueBytes);
    cell.value_bytes = view.value.size();
    cell.label = view.label;
    cell.timestamp_us = view.timestamp_us;
    if (view.note != nullptr) cell.note = *view.note;
    bytes_ += cell.row.size() + cell.qualifier.size() + cell.value.size();
    cells_.push_back(std::move(cell));
    return full() ? Flow::pause : Flow::more;
  }
  Flow end_row(Bytes) override {
    whole_ = cells_.size();
    return full() ? Flow::pause : Flow::more;
  }
  // Number of cells in complete rows.
  size_t whole() const { return whole_; }
  // The last complete row with a cell; empty: none.
  Bytes last_row() const { return whole_ == 0 ? Bytes() : Bytes(cells_[whole_ - 1].row); }
  // The row at hand, if it has had a cell; otherwise empty.
  Bytes open_row() const { return cells_.size() == whole_ ? Bytes() : Bytes(cells_.back().row); }
  void drop_open_row() { cells_.resize(whole_); }
  bool full() const { return cells_.size() >= most_ || bytes_ >= kMaxBrowsedBytes; }

 private:
  std::vector<BrowsedCell>& cells_;
  const size_t most_;
  size_t bytes_ = 0;
  size_t whole_ = 0;
};

// A walk over tablets, which returns at `until_us` what it has by then.
struct CellWalk {
  ReadSpec spec;
  Collector* sink = nullptr;
  int64_t until_us = 0;
  int64_t last_us = 0;  // for a row that takes longer
  bool stopped = false;
  bool moved = false;  // `passed` is not that of the request any more
  std::string passed;  // the last row that was read to its end; at first BrowseRequest::after
};

using Cursor = std::unique_ptr<engine::ScanCursor>;

// Waits while a change of rules holds the tablet. One that is gone is refused when the time is
// over.
Async<Result<Cursor>> open_cursor(ShardServer& owner, TabletId tablet, Epoch epoch,
                                  const CellWalk& walk) {
  while (true) {
    auto cursor = owner.engine().open_scan(tablet, epoch, walk.spec);
    const bool held = !cursor && cursor.error().code == Errc::aborted;
    if (!held || owner.timers().now_us() > walk.until_us) co_return cursor;
    co_await sleep_us(owner.timers(), kLookAtTabletUs);
  }
}

// The rows up to the last one of the cursor are done.
void pass_last_row(const engine::ScanCursor& cursor, CellWalk& walk) {
  if (cursor.last_row().empty()) return;
  walk.passed = cursor.last_row();
  walk.moved = true;
  walk.spec.rows = walk.spec.rows.clip(walk.passed + '\0', "");
}

// Ends the page behind the rows that were read. False: there are none.
bool stop_short(CellWalk& walk) {
  Collector& sink = *walk.sink;
  if (!walk.moved && sink.whole() == 0) return false;
  sink.drop_open_row();
  if (sink.last_row() > walk.passed) walk.passed = sink.last_row();
  walk.stopped = true;
  return true;
}

Error too_slow(const CellWalk& walk) {
  constexpr int64_t kLastS = 2 * kMaxBrowseUs / 1'000'000;
  const Bytes row = walk.sink->open_row();
  const std::string what = row.empty() ? fmt::format("a row behind '{}'", escape_bytes(walk.passed))
                                       : fmt::format("row '{}'", escape_bytes(row));
  return Error(Errc::deadline_exceeded,
               fmt::format("{} could not be read within {} s", what, kLastS));
}

// Runs on the tablet's shard. The collector is shared with the requesting shard, which waits.
Async<Result<void>> read_tablet(ShardServer& owner, TabletId tablet, Epoch epoch, CellWalk& walk) {
  Cursor cursor;
  while (true) {
    if (cursor && cursor->must_reopen()) {
      pass_last_row(*cursor, walk);
      cursor = nullptr;
    }
    if (!cursor) {
      auto opened = co_await open_cursor(owner, tablet, epoch, walk);
      if (!opened && opened.error().code == Errc::aborted && stop_short(walk)) break;
      CO_TRY(cursor, std::move(opened));
      cursor->watch(owner.wall());
    }
    // The next page begins behind the row at hand. A page without a row would not move.
    const bool entered = walk.moved || cursor->entries_read() > 0;
    const bool over = entered && owner.timers().now_us() > walk.until_us;
    if (over) cursor->end_with_row();
    const ScanStep step = cursor->run(*walk.sink);
    if (step == ScanStep::failed) co_return std::unexpected(cursor->error());
    if (step == ScanStep::done) break;
    walk.stopped = step == ScanStep::paused || (over && cursor->between_rows());
    if (walk.stopped) break;
    if (owner.timers().now_us() > walk.last_us) {
      if (stop_short(walk)) co_return Result<void>();
      co_return std::unexpected(too_slow(walk));
    }
    if (step == ScanStep::blocked) {
      co_await cursor->load();
    } else {
      co_await yield_now();
    }
  }
  if (cursor && cursor->between_rows()) pass_last_row(*cursor, walk);
  co_return Result<void>();
}

FilterSpec filter_of(const BrowseRequest& request) {
  FilterSpec filter;
  const auto add = [&filter](FilterKind kind, const std::string& text) {
    if (text.empty()) return;
    FilterNode node;
    node.kind = kind;
    node.text = text;
    filter.nodes.push_back(std::move(node));
  };
  add(FilterKind::family_regex, request.family);
  add(FilterKind::qualifier_regex, request.qualifier);
  add(FilterKind::value_regex, request.text);
  if (filter.nodes.size() < 2) return filter;
  FilterNode chain;
  chain.kind = FilterKind::chain;
  chain.child_count = static_cast<uint32_t>(filter.nodes.size());
  filter.nodes.insert(filter.nodes.begin(), std::move(chain));
  return filter;
}

Result<ReadSpec> spec_of(const BrowseRequest& request) {
  ReadSpec spec;
  KeyRange rows = KeyRange::prefix(request.prefix);
  if (!request.after.empty()) rows = intersect(rows, {request.after + '\0', ""});
  if (!rows.empty()) spec.rows.add(rows);
  spec.explain = true;
  spec.include_dead = request.include_dead;
  spec.time_range = request.times;
  spec.versions = request.versions;
  const FilterSpec filter = filter_of(request);
  if (filter.empty()) return spec;
  TRY_VOID(validate_filter(filter));
  TRY(const engine::FilterPlan plan, engine::plan_filter(filter));
  plan.narrow(spec);
  return spec;
}

}  // namespace

Async<Result<BrowsedCells>> browse(ShardServer& shard, BrowseRequest request) {
  CO_TRY_VOID(co_await server::admit_by_time(shard));
  const engine::TableMap map = shard.tables();
  const engine::TableEntry* table = map.find(request.table);
  if (table == nullptr) {
    co_return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(request.table));
  }
  CO_TRY(ReadSpec spec, spec_of(request));
  CO_TRY_VOID(shard.admission().begin_scan());
  BrowsedCells found;
  found.now_us = shard.clock().now_us();
  Collector sink(found.cells, request.cells);
  CellWalk walk;
  walk.sink = &sink;
  walk.passed = std::move(request.after);
  walk.until_us = shard.timers().now_us() + kMaxBrowseUs;
  walk.last_us = walk.until_us + kMaxBrowseUs;
  walk.spec = std::move(spec);
  Result<void> done;
  for (const engine::TabletDescriptor& tablet : table->tablets) {
    if (walk.spec.rows.clip(tablet.start, tablet.end).ranges().empty()) continue;
    ShardServer& owner = shard.peer(tablet.shard);
    auto there = [&owner, &tablet, &walk] {
      return read_tablet(owner, tablet.id, tablet.epoch, walk);
    };
    done = co_await shard.mailbox().call_on(tablet.shard, std::move(there));
    if (!done || walk.stopped) break;
  }
  shard.admission().end_scan();
  if (!done) co_return std::unexpected(std::move(done).error());
  found.more = walk.stopped;
  found.next = std::move(walk.passed);
  if (found.more && sink.whole() < found.cells.size()) {
    // The page is full within a row, which is left for the next page unless it is the only one.
    found.cut = sink.whole() == 0;
    if (!found.cut) found.cells.resize(sink.whole());
    found.next = found.cells.back().row;
  }
  co_return found;
}

}  // namespace cellar::http
