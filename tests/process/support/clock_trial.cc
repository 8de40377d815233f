#include "tests/process/support/clock_trial.h"

#include <algorithm>
#include <utility>

#include "tests/support/durations.h"

namespace cellar::process {
namespace {

constexpr const char* kTable = "t";
constexpr uint32_t kShards = 2;
constexpr size_t kMostTablets = 4;
constexpr uint64_t kRows = 6;
constexpr int64_t kAgeUs = 1'000'000;       // of family "aged"
constexpr int64_t kMostLifeUs = 3'000'000;  // the longest own expiry of a cell
constexpr int64_t kBriefUs = 200'000;       // of a cell that the trial wants to see dead
constexpr int64_t kRenewalUs = 1'200'000;   // within it an anchor is written
constexpr int64_t kOneInDrifts = 2'000;     // 500 ppm
constexpr int64_t kHourUs = 3'600 * kSecondUs;

std::string row_name(uint64_t n) { return fmt::format("r{}", n); }

}  // namespace

ClockTrial::ClockTrial(TrialMachine& machine, uint64_t seed)
    : machine_(machine),
      random_(seed),
      reshaper_(kTable, kShards, kMostTablets, random_.next()),
      began_us_(machine.real_us()) {}

client::SyncClient& ClockTrial::client() {
  if (!client_) {
    client::ClientOptions options;
    options.address = machine_.node().address();
    client_ = std::make_unique<client::SyncClient>(options);
  }
  return *client_;
}

Result<void> ClockTrial::begin() {
  client::TableSpec spec;
  spec.name = kTable;
  spec.granularity = Granularity::micros;
  spec.families.resize(2);
  spec.families[0].name = "aged";
  spec.families[0].rule_given = true;
  spec.families[0].rule = client::RetentionRule::max_age_us(kAgeUs);
  spec.families[1].name = "own";
  spec.splits = {row_name(kRows / 2)};
  TRY_VOID(client().create_table(spec));
  return {};
}

Result<void> ClockTrial::step() {
  ++steps_;
  const uint64_t dice = random_.below(1000);
  if (dice < 260) return write();
  if (dice < 560) return read(row_name(random_.below(kRows)));
  if (dice < 680) {
    const uint64_t most_us = random_.one_in(4) ? 400'000 : 80'000;
    machine_.pass(static_cast<int64_t>(random_.below(most_us)));
    return {};
  }
  if (dice < 770) return step_wall();
  if (dice < 800) return step_back_after_a_death();
  if (dice < 920) return reshape();
  if (dice < 940) return client().flush_table(kTable);
  if (dice < 945) return client().compact_table(kTable);
  return stop(dice < 980);
}

// Until a cell was read once, the trial knows only bounds of its death.
Result<void> ClockTrial::write() {
  return write(row_name(random_.below(kRows)), random_.one_in(2) ? kMostLifeUs : kMostLifeUs / 10);
}

Result<void> ClockTrial::write(const std::string& name, int64_t most_us) {
  const std::string column = fmt::format("c{}", next_cell_++);
  ++writes_;
  Row& row = rows_[name];
  Cell cell{.floor_us = row.answered_us};
  client::Mutation m(name);
  const auto life_us = static_cast<int64_t>(random_.below(static_cast<uint64_t>(most_us)));
  switch (random_.below(3)) {
    case 0:
      m.set("aged", column, "v");
      cell.life_us = kAgeUs;
      break;
    case 1:
      m.set("own", column, "v").with_ttl(life_us);
      cell.life_us = life_us;
      break;
    default:
      cell.last_us = machine_.real_us() + life_us;
      m.set("own", column, "v").with_expire_at(cell.last_us);
      break;
  }
  const auto done = client().mutate_row(kTable, m);
  if (!done && done.error().code == Errc::out_of_range && cell.last_us != INT64_MAX) {
    if (cell.last_us >= latest_us()) note(name, cell, column, "refused as dead", 0);
    return {};
  }
  TRY_VOID(done);
  row.cells.emplace(column, cell);
  return {};
}

// The latest instant that any answer so far can be judged at.
int64_t ClockTrial::latest_us() const {
  const int64_t now_us = machine_.real_us();
  return now_us + (now_us - began_us_) / kOneInDrifts + 1;
}

void ClockTrial::note(const std::string& row, const Cell& cell, const std::string& name,
                      const char* what, int64_t by_us) {
  wrong_.push_back(fmt::format("step {}: {}: cell {} of row {}, which lives until {}, by {} us",
                               steps_, what, name, row, cell.last_us, by_us));
}

Result<void> ClockTrial::read(const std::string& name) {
  ++reads_;
  Row& row = rows_[name];
  client::ReadRow spec;
  spec.row = name;
  spec.notes.with_expiry = true;
  TRY(const std::optional<client::Row> got, client().read_row(kTable, spec));
  const int64_t latest_us = this->latest_us();
  std::map<std::string, const client::Cell*> alive;
  if (got) {
    for (const client::Cell& cell : got->cells()) alive[std::string(cell.qualifier)] = &cell;
  }
  // First the tablet time that it implies, then the cells by that time.
  for (auto& [column, cell] : row.cells) {
    if (const auto found = alive.find(column); found != alive.end()) {
      const client::Cell& seen = *found->second;
      if (cell.last_us == INT64_MAX) {
        cell.last_us = seen.family == "own" ? seen.expire_at_us : seen.timestamp_us + cell.life_us;
        if (seen.timestamp_us < cell.floor_us)
          note(name, cell, column, "committed before an answer", cell.floor_us - seen.timestamp_us);
      }
      row.answered_us = std::max(row.answered_us, seen.timestamp_us);
    } else if (!cell.dead) {
      ++deaths_;
      cell.dead = true;
      if (cell.last_us == INT64_MAX) cell.last_us = cell.floor_us + cell.life_us;
      if (cell.last_us >= latest_us)
        note(name, cell, column, "early death", cell.last_us + 1 - latest_us);
      row.answered_us = std::max(row.answered_us, cell.last_us + 1);
    }
  }
  for (const auto& [column, seen] : alive) {
    const auto known = row.cells.find(column);
    if (known == row.cells.end()) {
      wrong_.push_back(fmt::format("step {}: cell {} was never written", steps_, column));
    } else if (row.answered_us > known->second.last_us) {
      note(name, known->second, column, "resurrection", row.answered_us - known->second.last_us);
    }
  }
  return {};
}

Result<void> ClockTrial::read_all() {
  for (uint64_t i = 0; i < kRows; ++i) TRY_VOID(read(row_name(i)));
  return {};
}

Result<void> ClockTrial::step_wall() {
  ++wall_steps_;
  if (random_.one_in(3)) return machine_.set_wall_ahead(0);
  const int64_t most_us = random_.one_in(3)   ? 400 * 24 * kHourUs
                          : random_.one_in(2) ? kHourUs
                                              : 5 * kSecondUs;
  const auto us = static_cast<int64_t>(random_.below(static_cast<uint64_t>(most_us)));
  return machine_.set_wall_ahead(random_.one_in(3) ? us : -us);
}

Result<void> ClockTrial::stop(bool kill) {
  ++starts_;
  client_.reset();
  if (kill) {
    machine_.node().kill_now();
  } else {
    TRY(const int code, machine_.node().terminate());
    if (code != 0) return fail(Errc::internal, "the node ended with {}", code);
  }
  const int64_t down_us =
      static_cast<int64_t>(random_.below(random_.one_in(2) ? 40 * kSecondUs : 3 * kSecondUs));
  if (machine_.boots() && !random_.one_in(3)) {
    ++boots_;
    machine_.boot(random_.one_in(4) ? 0 : down_us);
  }
  return machine_.start();
}

Result<void> ClockTrial::reshape() {
  const std::string cut = random_.one_in(2) ? "" : row_name(random_.below(kRows));
  TRY_VOID(reshaper_.step(client(), cut));
  // Tablet time counts from the moment at which the tablet has arrived.
  return random_.one_in(2) ? read_all() : Result<void>();
}

// A single shard observes a late time, and no request reads the clocks of the others meanwhile;
// then its tablet moves to another shard, or the node restarts, perhaps after another anchor.
Result<void> ClockTrial::step_back_after_a_death() {
  const std::string row = row_name(random_.below(kRows));
  TRY_VOID(machine_.set_wall_ahead(0));
  for (int i = 0; i < 4; ++i) TRY_VOID(write(row, kBriefUs));
  machine_.pass(kBriefUs);
  TRY_VOID(read(row));
  ++wall_steps_;
  TRY_VOID(machine_.set_wall_ahead(-static_cast<int64_t>(random_.below(uint64_t{kHourUs}))));
  if (random_.one_in(3)) machine_.pass(kRenewalUs);
  TRY_VOID(random_.one_in(3) ? stop(true) : reshaper_.move_away(client(), row));
  return read(row);
}

std::string ClockTrial::figures() const {
  return fmt::format(
      "{} steps: {} writes, {} reads, {} deaths read, {} steps of the wall clock, {} starts ({} "
      "after a boot), {} splits, {} moves, {} merges",
      steps_, writes_, reads_, deaths_, wall_steps_, starts_, boots_, reshaper_.splits(),
      reshaper_.moves(), reshaper_.merges());
}

}  // namespace cellar::process
