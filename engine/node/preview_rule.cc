#include "engine/node/preview_rule.h"

#include <algorithm>
#include <utility>

#include "engine/read/scan.h"

namespace cellar::engine {
namespace {

// Slices on a tablet's shard between two calls of the listener.
constexpr int kSlicesAway = 16;
constexpr int64_t kMapLookUs = 1000;
constexpr int64_t kMaxMapWaitUs = 30'000'000;

Error altered(const std::string& table) {
  return Error(Errc::aborted,
               fmt::format("table '{}' was altered during the preview of a rule", table))
      .retry_after(0);
}

}  // namespace

// The preview of one tablet. Created and reported on the calling shard; its cursor lives on the
// tablet's shard.
class TabletPreview final : public CellSink {
 public:
  TabletPreview(const PreviewPlan& plan, TabletDescriptor tablet, std::string from_row,
                size_t samples)
      : plan_(plan), tablet_(std::move(tablet)), samples_(samples) {
    rows_.add({std::move(from_row), tablet_.end});
    rows_.normalize();
  }

  // ---- on the tablet's shard
  // A few slices. ABORTED before anything was counted: the tablet is not on this shard.
  Async<Result<void>> go_on(ShardEngine& engine) {
    if (!cursor_) CO_TRY_VOID(open(engine));
    for (int i = 0; i < kSlicesAway && !done_; ++i) {
      switch (cursor_->run(*this)) {
        case ScanStep::blocked:
          co_await cursor_->load();
          break;
        case ScanStep::failed:
          co_return std::unexpected(cursor_->error());
        case ScanStep::done:
          done_ = true;
          break;
        default:
          co_await yield_now();
      }
    }
    count = watch_->count();
    co_return Result<void>{};
  }
  void unpin() { cursor_.reset(); }

  const TabletDescriptor& tablet() const { return tablet_; }
  bool begun() const { return cursor_ != nullptr; }
  bool done() const { return done_; }

  // Results so far; read on the calling shard between two calls.
  PreviewCount count;
  std::vector<std::string> lost_rows;

 private:
  Result<void> open(ShardEngine& engine) {
    ReadSpec spec;
    spec.rows = rows_;
    auto watch = std::make_unique<PreviewWatch>(plan_.after);
    watch_ = watch.get();
    TRY(cursor_,
        engine.open_watched(tablet_.id, tablet_.epoch, plan_.version, spec, std::move(watch)));
    return {};
  }
  Flow cell(const CellView& /*cell*/) override { return Flow::more; }
  Flow end_row(Bytes row) override {
    if (lost_rows.size() < samples_) lost_rows.emplace_back(row);
    return Flow::more;
  }

  const PreviewPlan& plan_;
  const TabletDescriptor tablet_;
  const size_t samples_;
  RowSet rows_;
  std::unique_ptr<ScanCursor> cursor_;
  PreviewWatch* watch_ = nullptr;  // the cursor's
  bool done_ = false;
};

Async<Result<PreviewPlan>> RulePreviews::plan_here(const PreviewRequest& request) {
  (void)co_await clock_.catch_up();
  TableChange change;
  change.name = request.table;
  change.close_oldest_undo_window = request.close_oldest_undo_window;
  FamilySpec& family = change.alter.emplace_back();
  family.name = request.family;
  family.rule = request.rule;

  AsyncMutex::Lock lock = co_await catalog_.lock();
  CO_TRY(Catalog::Alteration alteration, catalog_.tables().plan_alter(change));
  PreviewPlan plan;
  plan.table = alteration.entry.schema.id;
  const TableSchema& before = catalog_.map().find(plan.table)->schema;
  plan.version = before.version;
  plan.changes = !alteration.ruled.empty();
  if (!plan.changes) co_return plan;
  CO_TRY_VOID(co_await alterations_.stamp_changes(alteration, shards_.tablets_of(alteration.entry),
                                                  change.close_oldest_undo_window));
  const FamilySchema& after = *alteration.entry.schema.find_family(request.family);
  const bool opens = !after.history.empty() && after.history.back().undo_until_us != 0 &&
                     after.history.back().until > last_rule_change(before);
  if (opens) plan.undo_window_us = after.undo_window_us;
  plan.after = std::move(alteration.entry.schema);
  co_return plan;
}

// The sources of the tablets; tablets that no longer exist have none.
Async<std::vector<TabletContents>> RulePreviews::table_contents(ShardId from, TableId table) {
  std::vector<TabletContents> contents;
  const TableEntry* entry = shards_.part(from).tables.find(table);
  if (entry == nullptr) co_return contents;
  const TabletsByShard ids = shards_.tablets_of(*entry);
  for (uint32_t i = 0; i < shards_.count(); ++i) {
    auto there = [this, &ids, i]() -> Async<std::vector<TabletContents>> {
      co_return shards_.engine(ShardId{i}).contents(ids[i]);
    };
    auto some = co_await shards_.mailbox(from).call_on(ShardId{i}, std::move(there));
    for (TabletContents& one : some) contents.push_back(std::move(one));
  }
  co_return contents;
}

Async<Result<PreviewReport>> RulePreviews::run(ShardId from, PreviewRequest request,
                                               PreviewListener& listener) {
  if (request.samples > kMaxPreviewSamples)
    co_return fail(Errc::invalid_argument, "{} samples of rows are over the limit of {}",
                   request.samples, kMaxPreviewSamples);
  auto there = [this, &request] { return plan_here(request); };
  CO_TRY(const PreviewPlan plan, co_await shards_.at_home(from, std::move(there)));
  PreviewReport report;
  report.approximate = request.approximate;
  report.undo_window_us = plan.undo_window_us;
  if (!plan.changes) co_return report;
  const std::vector<TabletContents> contents = co_await table_contents(from, plan.table);
  if (request.approximate) {
    const TableEntry* entry = shards_.part(from).tables.find(plan.table);
    if (entry == nullptr || entry->schema.version != plan.version)
      co_return std::unexpected(altered(request.table));
    const int64_t now_us = std::max(shards_.env(from).runtime.clock.now_us(),
                                    TableRetention(plan.after).not_before_us());
    report = estimate_preview(entry->schema, plan.after, request.family, contents, now_us);
    report.undo_window_us = plan.undo_window_us;
    co_return report;
  }
  PreviewProgress progress;
  progress.rows_about = rows_about(contents);
  CO_TRY_VOID(co_await preview_tablets(from, plan, request, listener, progress, report));
  report.count = progress.count;
  co_return report;
}

// Previews tablet by tablet, in key order.
Async<Result<void>> RulePreviews::preview_tablets(ShardId from, const PreviewPlan& plan,
                                                  const PreviewRequest& request,
                                                  PreviewListener& listener,
                                                  PreviewProgress& progress,
                                                  PreviewReport& report) {
  std::string row;
  int64_t waited_us = 0;
  while (true) {
    const TableEntry* entry = shards_.part(from).tables.find(plan.table);
    if (entry == nullptr) co_return fail(Errc::not_found, "table {} was dropped", plan.table);
    if (entry->schema.version != plan.version) co_return std::unexpected(altered(request.table));
    const uint64_t map_version = shards_.part(from).tables.version;
    TabletPreview preview(plan, entry->locate(row), row, request.samples - report.samples.size());
    const Result<void> read = co_await preview_tablet(from, preview, listener, progress);
    if (!read) {
      const bool gone = read.error().code == Errc::aborted && !preview.begun();
      if (!gone || waited_us >= kMaxMapWaitUs) co_return read;
      for (; shards_.part(from).tables.version == map_version && waited_us < kMaxMapWaitUs;
           waited_us += kMapLookUs) {
        CO_TRY_VOID(listener.go_on(progress));
        co_await sleep_us(shards_.env(from).runtime.timers, kMapLookUs);
      }
      continue;
    }
    waited_us = 0;
    for (std::string& lost : preview.lost_rows) report.samples.push_back(std::move(lost));
    row = preview.tablet().end;
    if (row.empty()) co_return Result<void>{};
  }
}

// Reads the tablet to its end, or until the listener cancels; adds its counts.
Async<Result<void>> RulePreviews::preview_tablet(ShardId from, TabletPreview& preview,
                                                 PreviewListener& listener,
                                                 PreviewProgress& progress) {
  const PreviewCount before = progress.count;
  const ShardId shard = preview.tablet().shard;
  Result<void> going;
  while (going && !preview.done()) {
    auto there = [this, &preview, shard] { return preview.go_on(shards_.engine(shard)); };
    going = co_await shards_.mailbox(from).call_on(shard, std::move(there));
    progress.count = before;
    progress.count += preview.count;
    if (going) going = listener.go_on(progress);
  }
  if (preview.begun()) {
    auto unpin = [&preview]() -> Async<void> {
      preview.unpin();
      co_return;
    };
    co_await shards_.mailbox(from).call_on(shard, std::move(unpin));
  }
  co_return going;
}

}  // namespace cellar::engine
