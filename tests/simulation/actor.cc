#include "tests/simulation/actor.h"

#include <algorithm>
#include <utility>

#include "io/base/check.h"

namespace cellar::simulation {
namespace {

constexpr size_t kLongPad = 20'000;

uint64_t hash_of(Bytes text) {
  uint64_t hash = 1469598103934665603u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash ^ (hash >> 29);
}

size_t pad_of(Bytes value) {
  const uint64_t hash = hash_of(value);
  if (hash % 10 < 6) return hash / 16 % 40;
  if (hash % 10 < 9) return 500 + hash / 16 % 3'500;
  return kLongPad;
}

// Counters and appended text are as the node computes them.
bool is_padded(Bytes qualifier) { return qualifier != "c" && qualifier != "p"; }

client::Mutation mutation_of(const std::string& row, const std::vector<OwnedMutation>& ops) {
  client::Mutation m(row);
  for (const OwnedMutation& op : ops) {
    switch (op.kind) {
      case Mutation::Kind::set_cell:
        if (op.timestamp_us == kServerStamped) {
          m.set(op.family, op.qualifier, padded(op.value));
        } else {
          m.set(op.family, op.qualifier, padded(op.value), op.timestamp_us);
        }
        if (op.ttl_us != kNoTtl) m.with_ttl(op.ttl_us);
        if (op.expire_at_us != kNoExpiry) m.with_expire_at(op.expire_at_us);
        break;
      case Mutation::Kind::delete_from_column:
        if (op.start_us == 0 && op.end_us == kMaxTimestampUs) {
          m.delete_column(op.family, op.qualifier);
        } else {
          m.delete_column(op.family, op.qualifier, op.start_us, op.end_us);
        }
        break;
      case Mutation::Kind::delete_from_family:
        m.delete_family(op.family);
        break;
      case Mutation::Kind::delete_from_row:
        m.delete_row();
        break;
    }
  }
  return m;
}

}  // namespace

std::string padded(const std::string& value) {
  std::string out = value + "|";
  out.resize(out.size() + pad_of(value), static_cast<char>('a' + value.size() % 26));
  return out;
}

std::optional<std::string> unpadded(Bytes text) {
  const size_t bar = text.find('|');
  if (bar == Bytes::npos) return std::nullopt;
  std::string value(text.substr(0, bar));
  if (padded(value) != text) return std::nullopt;
  return value;
}

Actor::Actor(Stage& stage, uint32_t number) : stage_(stage), name_(fmt::format("c{}", number)) {
  Random random = stage.random_of(name_, 0);
  client::ClientOptions options;
  options.client_id = name_;
  options.connections = 1 + random.below(2);
  options.request_deadline_us = 2'000'000 + static_cast<int64_t>(random.below(8'000'000));
  options.keepalive_us = 2'000'000;
  options.connect_timeout_us = 1'000'000;
  options.backoff_max_us = 300'000;
  options.retry.backoff_max_us = 300'000;
  options.wait_for_connection = !random.one_in(3);
  options.retry.max_attempts = random.one_in(3) ? 1 : 10;
  client_ = stage.client(std::move(options), random.next());
}

std::string Actor::draw_row(Random& random) const {
  const auto& rows = stage_.history.rows();
  return rows[random.below(rows.size())];
}

std::string Actor::draw_table(Random& random) const {
  const auto& tables = stage_.history.tables();
  return tables[random.below(tables.size())];
}

Async<void> Actor::beat(uint32_t number) {
  Random random = stage_.random_of(name_, number + 1);
  for (uint32_t i = 0; i < stage_.plan.requests && !stage_.problem; ++i) {
    if (random.one_in(3)) {
      co_await sleep_us(stage_.loop.timers(), static_cast<int64_t>(random.below(20'000)));
    }
    co_await request(random);
  }
}

Async<void> Actor::request(Random& random) {
  const Plan& plan = stage_.plan;
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
      co_return co_await read(random);
    case 3:
      if (plan.has(Feature::batches)) co_return co_await mutate_rows(random);
      break;
    case 4:
    case 5:
      if (plan.has(Feature::conditions)) co_return co_await check(random);
      break;
    case 6:
    case 7:
      if (plan.has(Feature::modifications)) co_return co_await modify(random);
      break;
    case 8:
      if (plan.has(Feature::range_drops) && random.one_in(2)) co_return co_await drop_rows(random);
      break;
    default:
      break;
  }
  co_await mutate(random);
}

// ---- reads

std::vector<SeenCell> Actor::seen(std::span<const client::Cell> cells) {
  std::vector<SeenCell> out;
  for (const client::Cell& cell : cells) {
    SeenCell one{std::string(cell.family), std::string(cell.qualifier), cell.timestamp_us,
                 std::string(cell.value), cell.expire_at_us};
    if (is_padded(cell.qualifier)) {
      std::optional<std::string> value = unpadded(cell.value);
      if (!value) {
        stage_.complain(fmt::format("{} read a value that nobody wrote: {} bytes, {}", name_,
                                    cell.value.size(), escape_bytes(cell.value)));
        return out;
      }
      one.value = std::move(*value);
    }
    out.push_back(std::move(one));
  }
  return out;
}

Async<void> Actor::read(Random& random) {
  std::string table = draw_table(random);
  std::string row = draw_row(random);
  const bool newest_only = random.one_in(4);
  co_await read_row({table, table, std::move(row)}, newest_only, false);
}

Async<void> Actor::read_restored(std::string name, std::string table, uint32_t branch,
                                 std::string row) {
  co_await read_row({std::move(name), std::move(table), std::move(row), branch}, false, false);
}

Async<void> Actor::read_row(RowName where, bool newest_only, bool must) {
  client::ReadRow asked{where.row, {}, {}};
  asked.notes.with_expiry = true;
  if (newest_only) asked.filter = client::Filter::cells_per_column(1);
  client::CallOptions options;
  if (must) options.wait_for_connection = true;
  RowOp op = stage_.begin(Verb::read, name_);
  op.newest_only = newest_only;
  op.branch = where.branch;
  const auto answer = co_await client_->async_read_row(where.name, asked, options, kAwaited);
  if (must && !answer && answer.error().code != Errc::not_found) {
    stage_.complain(fmt::format("row '{}' of table '{}' cannot be read at the end: {}", where.row,
                                where.name, answer.error().to_string()));
  }
  if (!keep(op, answer ? nullptr : &answer.error())) co_return;
  if (answer && *answer) op.seen = seen((*answer)->cells());
  for (const SeenCell& cell : op.seen) {
    if (cell.family == "a" && cell.qualifier == "e") {
      newest_[where.row] = cell.value;
      break;
    }
  }
  stage_.history.add(where.table, where.row, std::move(op));
}

// Records what a scan says of the rows up to a key: the ones before it are empty.
void Actor::pass_rows(const std::string& table, const RowOp& read, std::vector<std::string>& left,
                      Bytes up_to, bool found, std::span<const client::Cell> cells) {
  while (!left.empty()) {
    const std::string row = left.back();
    const bool here = found && row == up_to;
    RowOp op = read;
    op.call = read.call;
    stage_.answered(op);
    if (here) op.seen = seen(cells);
    stage_.history.add(table, row, std::move(op));
    left.pop_back();
    if (here) return;
  }
  if (found) stage_.complain(fmt::format("a scan returned the row '{}' again or unasked", up_to));
}

Async<void> Actor::scan(uint32_t number) {
  Random random = stage_.random_of(name_ + "scan", number);
  const std::string table = draw_table(random);
  client::ReadRows asked;
  asked.credits = 1;
  asked.reversed = random.one_in(2);
  asked.notes.with_expiry = true;
  std::vector<std::string> left = stage_.history.rows();  // next one last
  if (!asked.reversed) std::reverse(left.begin(), left.end());
  const int64_t pause_us = random.one_in(2) ? 0 : static_cast<int64_t>(random.below(15'000'000));
  RowOp op = stage_.begin(Verb::read, name_ + " scan");
  client::ReadStream stream = client_->read_rows(table, asked);
  std::string key;
  std::vector<client::CellBlock> blocks;  // of a row in several
  std::vector<client::Cell> cells;
  while (!stage_.problem) {
    auto block = co_await stream.async_next(kAwaited);
    if (!block) {
      if (keep(op, &block.error())) {
        for (const std::string& row : left) stage_.history.add(table, row, op);
      }
      break;
    }
    if (block->empty()) {
      pass_rows(table, op, left, {}, false, {});
      break;
    }
    for (const client::RowPart& part : block->rows()) {
      if (!part.continued) cells.clear();
      cells.insert(cells.end(), part.cells.begin(), part.cells.end());
      if (part.complete) pass_rows(table, op, left, part.key, true, cells);
    }
    blocks.push_back(std::move(*block));
    co_await sleep_us(stage_.loop.timers(), pause_us);
  }
}

Async<void> Actor::read_everything() {
  for (const std::string& table : stage_.history.tables()) {
    for (const std::string& row : stage_.history.rows()) {
      co_await read_row({table, table, row}, false, true);
    }
  }
}

// ---- writes

bool Actor::keep(RowOp& op, const Error* error) {
  const auto verb = static_cast<int>(op.verb);
  ++stage_.answers[fmt::format("{} {}", verb, errc_name(error ? error->code : Errc::ok))];
  if (error == nullptr) {
    stage_.answered(op);
    return true;
  }
  const bool in_doubt = op.verb != Verb::read && error->applied != Applied::not_applied;
  if (error->code == Errc::not_found && !in_doubt) {
    stage_.answered(op);
    op.refused = Refused::absent;
    return true;
  }
  const bool dead = error->code == Errc::out_of_range && op.verb != Verb::read;
  // A client draws a token with the node's time as it knows it, and that stands still while the
  // wall clock is behind, and is held after a boot with a clock that is not synchronised.
  const bool clocks = stage_.plan.has(Feature::wall_jumps) || stage_.plan.has(Feature::boots);
  const bool ahead = clocks && error->code == Errc::invalid_argument &&
                     error->message.starts_with("the token was issued at");
  if (!is_transient(error->code) && !dead && !ahead && !in_doubt) {
    stage_.complain(
        fmt::format("{}: an answer that nothing explains: {}", op.text(), error->to_string()));
  }
  if (!in_doubt) return false;
  stage_.unanswered(op);
  return true;
}

void Actor::finish(const std::string& table, const std::string& row, RowOp op, const Error* error) {
  if (keep(op, error)) stage_.history.add(table, row, std::move(op));
}

// The timestamp of the cells that the server stamped is the commit stamp, rounded down.
void Actor::note_stamp(RowOp& op, uint64_t stamp_ns, int64_t timestamp_us) {
  op.stamp_ns = stamp_ns;
  const auto commit_us = static_cast<int64_t>(stamp_ns / 1'000);
  if (timestamp_us == 0 || stamp_ns == 0) return;
  const int64_t granule = granule_us(stage_.plan.granularity);
  if (timestamp_us != commit_us - commit_us % granule) {
    stage_.complain(
        fmt::format("{}: the stamp {} and the timestamp {}", op.text(), stamp_ns, timestamp_us));
  }
}

// A level below `sync` goes without a token: a repeat after a crash could be a second commit, seen
// after the first was taken back.
client::CallOptions Actor::draw_options(Random& random, RowOp& op) const {
  client::CallOptions options;
  options.draw_tokens = !random.one_in(4);
  if (!stage_.plan.has(Feature::weak) || random.one_in(2)) return options;
  options.durability = random.one_in(2) ? Durability::memory : Durability::periodic;
  options.draw_tokens = false;
  op.durable = false;
  return options;
}

// The client gives timestamp and expiry (row_machine.h). Some timestamps meet.
OwnedMutation Actor::draw_mixed_set(Random& random) {
  OwnedMutation op;
  op.family = "m";
  op.qualifier = random.one_in(3) ? "f" : "e";
  op.value = value();
  constexpr int64_t kRasterUs = 4'000'000;
  const int64_t past_us = static_cast<int64_t>(random.below(36'000'000));
  op.timestamp_us = (stage_.now_us() - past_us) / kRasterUs * kRasterUs;
  if (stage_.plan.has(Feature::expiries) && random.one_in(4)) {
    op.expire_at_us = stage_.now_us() + 3'000'000 + static_cast<int64_t>(random.below(60'000'000));
  }
  return op;
}

OwnedMutation Actor::draw_set(Random& random) {
  if (stage_.plan.has(Feature::mixed_rules) && random.one_in(3)) return draw_mixed_set(random);
  OwnedMutation op;
  op.family = random.one_in(2) ? "a" : "b";
  op.value = value();
  const bool expires = stage_.plan.has(Feature::expiries) && op.family == "b" && random.one_in(3);
  if (!expires && random.one_in(2)) {
    op.qualifier = "s";
    return op;
  }
  op.qualifier = expires ? "t" : "e";
  if (op.family == "a") {
    op.timestamp_us = 1'000 * (1 + static_cast<int64_t>(random.below(6)));
    return op;
  }
  const int64_t past_us = static_cast<int64_t>(random.below(60'000'000));
  op.timestamp_us = (stage_.now_us() - past_us) / 1'000 * 1'000;
  if (!expires) return op;
  const int64_t life_us = 5'000'000 + static_cast<int64_t>(random.below(95'000'000));
  if (random.one_in(2)) {
    op.ttl_us = life_us;
  } else {
    op.expire_at_us = stage_.now_us() + life_us;
  }
  return op;
}

std::vector<OwnedMutation> Actor::draw_ops(Random& random) {
  std::vector<OwnedMutation> ops;
  const uint64_t count = random.one_in(3) ? 1 + random.below(4) : 1;
  for (uint64_t i = 0; i < count; ++i) {
    if (!random.one_in(5)) {
      ops.push_back(draw_set(random));
      continue;
    }
    OwnedMutation op;
    const uint64_t kind = random.below(6);
    op.kind = kind == 0   ? Mutation::Kind::delete_from_row
              : kind == 1 ? Mutation::Kind::delete_from_family
                          : Mutation::Kind::delete_from_column;
    if (kind > 0) op.family = random.one_in(2) ? "a" : "b";
    if (kind > 1) op.qualifier = random.one_in(3) ? "s" : "e";
    if (kind > 0 && stage_.plan.has(Feature::mixed_rules) && random.one_in(3)) {
      op.family = "m";
      if (kind > 4) {  // from some instant on
        op.start_us = stage_.now_us() - static_cast<int64_t>(random.below(30'000'000));
        op.start_us -= op.start_us % 1'000;
      }
    }
    if (kind > 3 && op.family == "a" && op.qualifier == "e") {
      op.start_us = 1'000 * static_cast<int64_t>(random.below(4));
      op.end_us = op.start_us + 1'000 * (1 + static_cast<int64_t>(random.below(4)));
    }
    ops.push_back(std::move(op));
  }
  return ops;
}

Async<void> Actor::mutate(Random& random) {
  const std::string table = draw_table(random);
  const std::string row = draw_row(random);
  RowOp op = stage_.begin(Verb::mutate, name_);
  op.ops = draw_ops(random);
  const client::CallOptions options = draw_options(random, op);
  const client::Mutation m = mutation_of(row, op.ops);
  const auto answer = co_await client_->async_mutate_row(table, m, options, kAwaited);
  if (answer) note_stamp(op, answer->commit_stamp_ns, answer->timestamp_us);
  finish(table, row, std::move(op), answer ? nullptr : &answer.error());
}

Async<void> Actor::mutate_rows(Random& random) {
  const std::string table = draw_table(random);
  std::vector<std::string> rows;
  for (const std::string& row : stage_.history.rows()) {
    if (random.one_in(2)) rows.push_back(row);
  }
  if (rows.empty()) co_return;
  RowOp common = stage_.begin(Verb::mutate, name_);
  const client::CallOptions options = draw_options(random, common);
  std::vector<RowOp> ops(rows.size(), common);
  std::vector<client::Mutation> entries;
  for (size_t i = 0; i < rows.size(); ++i) {
    ops[i].call = stage_.history.tick();
    ops[i].ops = draw_ops(random);
    entries.push_back(mutation_of(rows[i], ops[i].ops));
  }
  const auto answer = co_await client_->async_mutate_rows(table, entries, options, kAwaited);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Error* error = nullptr;
    if (!answer) {
      error = &answer.error();
    } else if (!(*answer)[i]) {
      error = &(*answer)[i].error();
    }
    finish(table, rows[i], std::move(ops[i]), error);
  }
}

Async<void> Actor::check(Random& random) {
  const std::string table = draw_table(random);
  const std::string row = draw_row(random);
  RowOp op = stage_.begin(Verb::check, name_);
  client::CheckAndMutate asked;
  asked.row = row;
  const auto known = newest_.find(row);
  if (known != newest_.end() && !random.one_in(3)) {
    op.expect = {"e", known->second};
    client::Filter::Bounds column{"e", "e", false, true};
    // Every padding of the value: a filter has 20 KiB at most.
    client::Filter::Bounds equal{known->second + "|", known->second + "}", false, false};
    asked.filter = client::Filter::chain({client::Filter::column_range("a", column),
                                          client::Filter::cells_per_column(1),
                                          client::Filter::value_range(equal)});
  }
  op.ops = draw_ops(random);
  if (random.one_in(2)) op.otherwise = draw_ops(random);
  asked.then_mutation = mutation_of(row, op.ops);
  asked.else_mutation = mutation_of(row, op.otherwise);
  const client::CallOptions options = draw_options(random, op);
  const auto answer = co_await client_->async_check_and_mutate(table, asked, options, kAwaited);
  if (answer) {
    op.matched = answer->matched;
    note_stamp(op, answer->commit_stamp_ns, answer->timestamp_us);
  }
  finish(table, row, std::move(op), answer ? nullptr : &answer.error());
}

Async<void> Actor::modify(Random& random) {
  const std::string table = draw_table(random);
  const std::string row = draw_row(random);
  RowOp op = stage_.begin(Verb::modify, name_);
  client::ReadModifyWrite asked;
  asked.row = row;
  Modification rule{"a", "c", {}, 1 + static_cast<int64_t>(random.below(9))};
  if (random.one_in(2)) rule = {"a", "p", value() + ";", 0};
  op.rules.push_back(rule);
  asked.rules.push_back({rule.family, rule.qualifier, rule.append, rule.increment_by});
  const client::CallOptions options = draw_options(random, op);
  const auto answer = co_await client_->async_read_modify_write(table, asked, options, kAwaited);
  if (answer) {
    op.seen = seen(answer->cells());
    note_stamp(op, answer->commit_stamp_ns(), 0);
    if (op.seen.size() != 1 && !answer->answer_not_kept()) {
      stage_.complain(fmt::format("{}: {} cells returned", op.text(), op.seen.size()));
    }
  }
  finish(table, row, std::move(op), answer ? nullptr : &answer.error());
}

Async<void> Actor::drop_rows(Random& random) {
  const std::string table = draw_table(random);
  client::DropRows asked;
  if (!random.one_in(3)) asked.start = draw_row(random);
  if (!random.one_in(3)) asked.end = draw_row(random);
  if (asked.start && asked.end && *asked.start >= *asked.end) asked.end.reset();
  if (!asked.start && !asked.end) asked.prefix = draw_row(random).substr(0, 1);
  RowOp op = stage_.begin(Verb::mutate, name_ + " drop_rows");
  OwnedMutation all;
  all.kind = Mutation::Kind::delete_from_row;
  op.ops = {all};
  client::CallOptions options;
  options.draw_tokens = !random.one_in(4);
  const auto answer = co_await client_->async_drop_row_range(table, asked, options, kAwaited);
  if (!keep(op, answer ? nullptr : &answer.error())) co_return;
  for (const std::string& row : stage_.history.rows()) {
    const bool in = asked.prefix
                        ? row.starts_with(*asked.prefix)
                        : (!asked.start || row >= *asked.start) && (!asked.end || row < *asked.end);
    if (in) stage_.history.add(table, row, op);
  }
}

}  // namespace cellar::simulation
