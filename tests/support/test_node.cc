#include "tests/support/test_node.h"

#include <tuple>
#include <utility>

#include "engine/node/open_node.h"
#include "io/base/check.h"
#include "tests/support/test_node_life.h"

namespace cellar::support {
namespace {

std::pair<std::string, std::string> split_column(const std::string& column) {
  const size_t colon = column.find(':');
  CHECK(colon != std::string::npos, "column '{}' has no colon", column);
  return {column.substr(0, colon), column.substr(colon + 1)};
}

class Patient final : public engine::PreviewListener {
 public:
  Result<void> go_on(const engine::PreviewProgress& /*progress*/) override { return {}; }
};

}  // namespace

OwnedMutation set_cell(std::string column, int64_t timestamp_us, std::string value) {
  OwnedMutation op;
  op.kind = Mutation::Kind::set_cell;
  std::tie(op.family, op.qualifier) = split_column(column);
  op.value = std::move(value);
  op.timestamp_us = timestamp_us;
  return op;
}
OwnedMutation delete_row() {
  OwnedMutation op;
  op.kind = Mutation::Kind::delete_from_row;
  return op;
}
OwnedMutation delete_family(std::string family) {
  OwnedMutation op;
  op.kind = Mutation::Kind::delete_from_family;
  op.family = std::move(family);
  return op;
}
OwnedMutation delete_column(std::string column, int64_t start_us, int64_t end_us) {
  OwnedMutation op;
  op.kind = Mutation::Kind::delete_from_column;
  std::tie(op.family, op.qualifier) = split_column(column);
  op.start_us = start_us;
  op.end_us = end_us;
  return op;
}

TestNodeOptions::TestNodeOptions() {
  engine.memory_bytes = 64u << 20;
  engine.memtable_bytes = 1u << 20;
  engine.table_bytes = 1u << 20;
  engine.log_segment_bytes = 256u << 10;
  // Trusted time equals the world's clock, and nothing is written between calls.
  engine.clock_permit_us = INT64_MAX;
  engine.clock_renew_us = 0;
  log.segment_bytes = 256u << 10;
  log.batch_bytes = 64u << 10;
  log.max_pending_bytes = 1u << 20;
}

TestNode::TestNode(TestNodeOptions options)
    : TestNode(std::move(options), std::make_unique<MemDisk>()) {}

TestNode::TestNode(TestNodeOptions options, std::unique_ptr<MemDisk> disk)
    : options_(std::move(options)), disk_(std::move(disk)), random_(options_.seed) {
  auto opened = open();
  if (!opened) open_error_ = std::move(opened).error();
}

TestNode::~TestNode() { leave(); }

// ---- lifetime

Result<void> TestNode::open() {
  CHECK(!life_, "the node is open");
  life_ = std::make_unique<Life>(options_.seed + ++lives_ * 1'000'003, options_.shards);
  SimWorld& world = life_->world;
  if (lives_ > 1) {
    world.clock() = machine_clock_;
  } else if (options_.start_wall_us != 0) {
    world.clock().set_wall_us(options_.start_wall_us);
  }
  life_->add_shards(options_, *disk_, random_);
  auto opened = block_on(0, open_stores());
  if (!opened) end_life();
  return opened;
}

bool TestNode::run_until(const std::function<bool()>& done) {
  return life_->world.run_until([&] {
    if (options_.on_round) options_.on_round(*this);
    return done();
  });
}

Async<Result<void>> TestNode::open_stores() {
  if (options_.wrap_manifest) {
    CO_TRY(life_->manifest, co_await life_->shards[0].stores->open_manifest());
    life_->manifest = options_.wrap_manifest(std::move(life_->manifest));
    CO_TRY(life_->node, co_await engine::Node::open(options_.engine, life_->envs(),
                                                    *life_->manifest, life_->mailboxes));
    co_return Result<void>{};
  }
  CO_TRY(engine::OpenedNode opened,
         co_await engine::open_node(*life_->shards[0].stores, options_.engine, life_->envs(),
                                    life_->mailboxes));
  life_->manifest = std::move(opened.manifest);
  life_->node = std::move(opened.node);
  co_return Result<void>{};
}

void TestNode::end_life() {
  if (!life_) return;
  machine_clock_ = life_->world.clock();
  life_->world.crash();
  life_.reset();
}

Result<void> TestNode::reopen() {
  auto opened = open();
  open_error_.reset();
  if (!opened) open_error_ = opened.error();
  return opened;
}

Result<void> TestNode::reopen(uint32_t shards) {
  options_.shards = shards;
  return reopen();
}

Result<void> TestNode::close() {
  auto closed = block_on(0, life_->node->close());
  end_life();
  return closed;
}

void TestNode::crash(CrashPolicy policy) {
  std::unique_ptr<MemDisk> after = crash_image(policy);
  leave();
  disk_ = std::move(after);
}

void TestNode::kill() {
  std::unique_ptr<MemDisk> after = disk_->clone();
  leave();
  disk_ = std::move(after);
}

// The disk is not used after this; an orderly end spares every object its destruction in the middle
// of work.
void TestNode::leave() {
  if (is_open()) (void)life_->world.block_on(*life_->shards[0].loop, life_->node->close());
  end_life();
}

std::unique_ptr<MemDisk> TestNode::crash_image(CrashPolicy policy) {
  return disk_->crash_image(policy, random_);
}

bool TestNode::is_open() const { return life_ && life_->node; }

// ---- tables

Result<engine::TableEntry> TestNode::create_table(std::string name,
                                                  std::vector<std::string> families,
                                                  std::vector<std::string> splits,
                                                  TableOptions options, Granularity granularity) {
  engine::TableSpec spec;
  spec.name = std::move(name);
  spec.granularity = granularity;
  spec.options = options;
  for (std::string& family : families) spec.families.push_back({std::move(family)});
  spec.splits = std::move(splits);
  return create_table(std::move(spec));
}

Result<engine::TableEntry> TestNode::create_table(engine::TableSpec spec) {
  return block_on(0, node().create_table(ShardId{0}, std::move(spec), author));
}

Result<engine::PreviewReport> TestNode::preview(engine::PreviewRequest request) {
  Patient listener;
  return block_on(0, node().preview_rule(ShardId{0}, std::move(request), listener));
}

Result<engine::TableEntry> TestNode::alter_table(engine::TableChange change) {
  return block_on(0, node().alter_table(ShardId{0}, std::move(change), author));
}

Result<engine::TableEntry> TestNode::undo_rule(engine::RuleUndo undo) {
  return block_on(0, node().undo_rule(ShardId{0}, std::move(undo), author));
}

Result<void> TestNode::drop_table(std::string name) {
  return block_on(0, node().drop_table(ShardId{0}, std::move(name), author));
}
Result<engine::TableEntry> TestNode::restore_table(std::string name) {
  return block_on(0, node().restore_table(ShardId{0}, std::move(name), author));
}
std::vector<engine::DroppedTable> TestNode::dropped_tables() {
  return block_on(0, node().dropped_tables(ShardId{0}));
}
engine::AuditPage TestNode::audit_log(engine::AuditQuery query) {
  return block_on(0, node().audit_log(ShardId{0}, std::move(query)));
}
Result<engine::IndexStates> TestNode::index_states(std::string table) {
  return block_on(0, node().index_states(ShardId{0}, std::move(table)));
}
Result<void> TestNode::flush(std::string table) {
  return block_on(0, node().flush_table(ShardId{0}, std::move(table)));
}
Result<std::vector<engine::TabletDescriptor>> TestNode::split(TabletId tablet, std::string row) {
  return block_on(0, node().split_tablet(ShardId{0}, tablet, std::move(row)));
}
Result<engine::TabletDescriptor> TestNode::merge(TabletId left, TabletId right) {
  return block_on(0, node().merge_tablets(ShardId{0}, left, right));
}
Result<engine::TabletDescriptor> TestNode::move(TabletId tablet, uint32_t to) {
  return block_on(0, node().move_tablet(ShardId{0}, tablet, ShardId{to}));
}
std::vector<engine::TabletFigures> TestNode::figures(std::string table_name) {
  auto all = block_on(0, node().tablet_figures(ShardId{0}, table(table_name)->schema.id));
  CHECK(all.has_value(), "no figures: {}", all.error().to_string());
  return *std::move(all);
}
Result<void> TestNode::compact(std::string table) {
  return world().block_on(*life_->shards[0].loop,
                          node().compact_table(ShardId{0}, std::move(table)));
}

// ---- writing

std::unique_ptr<PendingWrite> TestNode::begin_write(const std::string& table_name, std::string row,
                                                    std::vector<OwnedMutation> ops,
                                                    std::optional<Durability> level) {
  const engine::TableEntry* entry = table(table_name);
  CHECK(entry != nullptr, "table '{}' does not exist", table_name);
  auto pending = std::make_unique<PendingWrite>();
  pending->row = std::move(row);
  pending->ops = std::move(ops);
  for (const OwnedMutation& op : pending->ops) pending->views.push_back(op.view());
  const engine::TabletDescriptor& tablet = entry->locate(pending->row);
  engine::Write& write = pending->write;
  write.tablet = tablet.id;
  write.epoch = tablet.epoch;
  write.level = level;
  write.mutation = {.row = pending->row, .mutations = pending->views};
  write.context = pending.get();
  write.done = [](engine::Write& w) { static_cast<PendingWrite*>(w.context)->finished = true; };
  engine_of(tablet).submit(write);
  return pending;
}

std::unique_ptr<PendingWrite> TestNode::begin_drop_rows(const engine::TabletDescriptor& tablet,
                                                        std::string start, std::string end,
                                                        const WriteToken* token) {
  auto pending = std::make_unique<PendingWrite>();
  pending->range_start = std::move(start);
  pending->range_end = std::move(end);
  engine::Write& write = pending->write;
  write.tablet = tablet.id;
  write.epoch = tablet.epoch;
  write.range = RangeDelete{.start = pending->range_start, .end = pending->range_end};
  write.range_token = token;
  write.context = pending.get();
  write.done = [](engine::Write& w) { static_cast<PendingWrite*>(w.context)->finished = true; };
  engine_of(tablet).submit(write);
  return pending;
}

void TestNode::begin(PendingConditional& pending, const std::string& table_name, std::string row) {
  pending.row = std::move(row);
  for (const OwnedMutation& op : pending.then_ops) pending.then_views.push_back(op.view());
  for (const OwnedMutation& op : pending.else_ops) pending.else_views.push_back(op.view());
  const engine::TabletDescriptor& tablet = table(table_name)->locate(pending.row);
  engine::ConditionalWrite& write = pending.write;
  write.tablet = tablet.id;
  write.row = pending.row;
  write.then_mutations = pending.then_views;
  write.else_mutations = pending.else_views;
  write.rules = pending.rules;
  write.context = &pending;
  write.done = [](engine::ConditionalWrite& w) {
    static_cast<PendingConditional*>(w.context)->finished = true;
  };
  engine_of(tablet).submit(write);
}

void TestNode::wait(const PendingConditional& write) {
  const bool finished = run_until([&] { return write.finished; });
  CHECK(finished, "a write with a condition was never answered (seed {})", options_.seed);
}

void TestNode::wait(const PendingWrite& write) {
  const bool finished = run_until([&] { return write.finished; });
  CHECK(finished, "a write was never answered (seed {})", options_.seed);
}

Result<CommitStamp> TestNode::write(const std::string& table_name, std::string row,
                                    std::vector<OwnedMutation> ops,
                                    std::optional<Durability> level) {
  catch_up();
  const auto pending = begin_write(table_name, std::move(row), std::move(ops), level);
  wait(*pending);
  if (pending->write.error) return std::unexpected(*pending->write.error);
  return pending->write.stamp;
}

Result<CommitStamp> TestNode::set(const std::string& table_name, std::string row,
                                  std::string column, int64_t timestamp_us, std::string value) {
  std::vector<OwnedMutation> ops;
  ops.push_back(set_cell(std::move(column), timestamp_us, std::move(value)));
  return write(table_name, std::move(row), std::move(ops));
}

Result<void> TestNode::drop_rows(const std::string& table_name, std::string start,
                                 std::string end) {
  const std::vector<engine::TabletDescriptor> tablets = table(table_name)->tablets;
  for (const engine::TabletDescriptor& tablet : tablets) {
    const auto pending = begin_drop_rows(tablet, start, end);
    wait(*pending);
    if (pending->write.error) return std::unexpected(*pending->write.error);
  }
  return {};
}

// ---- internals

void TestNode::catch_up() {
  if (!shard(0).clock().stands()) return;
  (void)block_on(0, life_->node->catch_up(ShardId{0}));
}

engine::ClockReport TestNode::clock_report() {
  return block_on(0, life_->node->clock_report(ShardId{0}));
}

Result<void> TestNode::renew_clock() { return block_on(0, life_->node->renew_clock(ShardId{0})); }

Result<engine::ClockReport> TestNode::release_held_time() {
  return block_on(0, life_->node->release_held_time(ShardId{0}));
}

engine::Node& TestNode::node() {
  CHECK(is_open(), "the node is not open: {}", open_error_ ? open_error_->to_string() : "closed");
  return *life_->node;
}

SimWorld& TestNode::world() {
  CHECK(life_, "the node is not open: {}", open_error_ ? open_error_->to_string() : "closed");
  return life_->world;
}

SimLoop& TestNode::loop(uint32_t shard) { return *life_->shards.at(shard).loop; }
Shard& TestNode::shard(uint32_t shard) { return *life_->shards.at(shard).shard; }

const engine::TableEntry* TestNode::table(const std::string& name) {
  return node().tables(ShardId{0}).find(Bytes(name));
}

engine::Engine& TestNode::engine_of(const engine::TabletDescriptor& tablet) {
  return node().engine(tablet.shard);
}

engine::EngineStats TestNode::stats() {
  engine::EngineStats sum;
  for (uint32_t i = 0; i < options_.shards; ++i) {
    const engine::EngineStats s = node().engine(ShardId{i}).stats();
    sum.tablets += s.tablets;
    sum.tables_on_disk += s.tables_on_disk;
    sum.table_bytes += s.table_bytes;
    sum.log_bytes += s.log_bytes;
    sum.memtable_bytes += s.memtable_bytes;
    sum.pinned_memtable_bytes += s.pinned_memtable_bytes;
    sum.cache_bytes += s.cache_bytes;
    sum.metadata_bytes += s.metadata_bytes;
    sum.tokens += s.tokens;
    sum.commits += s.commits;
    sum.flushes += s.flushes;
    sum.compactions += s.compactions;
    sum.reclaim_turns += s.reclaim_turns;
    sum.torn_tail_bytes += s.torn_tail_bytes;
    sum.replayed_commits += s.replayed_commits;
    sum.read_only = sum.read_only || s.read_only;
  }
  return sum;
}

}  // namespace cellar::support
