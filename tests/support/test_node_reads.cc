// TestNode's reads: over all tablets of a table, in their order.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/read/scan.h"
#include "tests/support/test_node_life.h"

namespace cellar::support {
namespace {

class Collect final : public CellSink {
 public:
  explicit Collect(std::vector<OwnedCell>& out) : out_(out) {}
  Flow cell(const CellView& cell) override {
    out_.push_back({std::string(cell.row), std::string(cell.family), std::string(cell.qualifier),
                    cell.timestamp_us, std::string(cell.value), std::string(cell.label)});
    return Flow::more;
  }
  Flow end_row(Bytes /*row*/) override { return Flow::more; }

 private:
  std::vector<OwnedCell>& out_;
};

class CollectNoted final : public CellSink {
 public:
  explicit CollectNoted(std::vector<NotedCell>& out) : out_(out) {}
  Flow cell(const CellView& cell) override {
    OwnedCell owned{std::string(cell.row), std::string(cell.family), std::string(cell.qualifier),
                    cell.timestamp_us,     std::string(cell.value),  std::string(cell.label)};
    out_.push_back({std::move(owned), cell.note != nullptr ? *cell.note : CellNote()});
    return Flow::more;
  }
  Flow end_row(Bytes /*row*/) override { return Flow::more; }

 private:
  std::vector<NotedCell>& out_;
};

Async<Result<void>> run_scan(engine::ReadStart& read, CellSink& sink) {
  for (;; read.step = read.cursor->run(sink)) {
    switch (read.step) {
      case engine::ScanStep::blocked:
        co_await read.cursor->load();
        break;
      case engine::ScanStep::yielded:
      case engine::ScanStep::paused:
        co_await yield_now();
        break;
      case engine::ScanStep::failed:
        co_return std::unexpected(read.cursor->error());
      case engine::ScanStep::done:
        co_return Result<void>{};
    }
  }
}

}  // namespace

Result<void> TestNode::read_tablet(const engine::TabletDescriptor& tablet, const ReadSpec& spec,
                                   CellSink& sink) {
  TRY(auto read, engine_of(tablet).start_read(tablet.id, tablet.epoch, spec, sink, nullptr));
  return block_on(tablet.shard.value(), run_scan(read, sink));
}

Result<void> TestNode::read_into(const std::string& table_name, const ReadSpec& spec,
                                 CellSink& sink) {
  CHECK(spec.row_limit == 0, "a limit over several tablets is the router's business");
  const engine::TableEntry* entry = table(table_name);
  if (entry == nullptr) return fail(Errc::not_found, "table '{}' does not exist", table_name);
  catch_up();
  std::vector<engine::TabletDescriptor> tablets = entry->tablets;
  if (spec.reversed) std::reverse(tablets.begin(), tablets.end());
  for (const engine::TabletDescriptor& tablet : tablets) TRY_VOID(read_tablet(tablet, spec, sink));
  return {};
}

Result<std::vector<OwnedCell>> TestNode::read(const std::string& table_name, const ReadSpec& spec) {
  // The third read of one row is answered by the row cache, if nothing has changed.
  const auto& ranges = spec.rows.ranges();
  const bool one_row = ranges.size() == 1 && ranges[0].end == ranges[0].start + '\0';
  std::vector<OwnedCell> out;
  for (int reads = one_row ? 3 : 1; reads > 0; --reads) {
    out.clear();
    Collect sink(out);
    TRY_VOID(read_into(table_name, spec, sink));
  }
  return out;
}

Result<std::vector<NotedCell>> TestNode::read_noted(const std::string& table_name,
                                                    const ReadSpec& spec) {
  std::vector<NotedCell> out;
  CollectNoted sink(out);
  TRY_VOID(read_into(table_name, spec, sink));
  return out;
}

Result<std::vector<engine::IndexHit>> TestNode::read_index(const std::string& table_name,
                                                           IndexReadSpec spec, size_t batch_hits,
                                                           bool resume) {
  const engine::TableEntry* entry = table(table_name);
  if (entry == nullptr) return fail(Errc::not_found, "table '{}' does not exist", table_name);
  catch_up();
  std::vector<engine::IndexHit> hits;
  const std::string begin = spec.after;
  for (const engine::TabletDescriptor& tablet : std::vector(entry->tablets)) {
    spec.after = begin;
    std::unique_ptr<engine::IndexScan> scan;
    for (engine::IndexBatch batch; !batch.done;) {
      batch.clear();
      if (!scan) {
        TRY(scan, engine_of(tablet).open_index(tablet.id, tablet.epoch, spec));
      }
      TRY_VOID(block_on(tablet.shard.value(), scan->next(batch, {.hits = batch_hits})));
      if (!batch.passed.empty()) spec.after = batch.passed;
      std::ranges::move(batch.hits, std::back_inserter(hits));
      if (resume) scan.reset();
    }
  }
  std::ranges::sort(hits, [&spec](const engine::IndexHit& a, const engine::IndexHit& b) {
    return spec.reversed ? a.position > b.position : a.position < b.position;
  });
  return hits;
}

Result<std::vector<OwnedCell>> TestNode::read_row(const std::string& table_name,
                                                  const std::string& row) {
  ReadSpec spec;
  spec.rows.add(KeyRange::single(row));
  spec.rows.normalize();
  return read(table_name, spec);
}

std::vector<OwnedCell> TestNode::cells(const std::string& table_name) {
  ReadSpec spec;
  spec.rows = RowSet::everything();
  auto all = read(table_name, spec);
  if (!all) {
    ADD_FAILURE() << "seed " << options_.seed << ": " << all.error().to_string();
    return {};
  }
  return *std::move(all);
}

}  // namespace cellar::support
