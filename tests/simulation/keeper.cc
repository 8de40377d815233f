#include "tests/simulation/keeper.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/operator.h"

namespace cellar::simulation {
namespace {

using client::BackupAction;

constexpr const char* kDirectory = "/backups";

}  // namespace

Keeper::Keeper(Stage& stage) : stage_(stage), reader_(stage, 101) {
  client::ClientOptions options;
  options.client_id = "keeper";
  options.admin_deadline_us = 10'000'000;
  options.keepalive_us = 2'000'000;
  options.connect_timeout_us = 1'000'000;
  options.backoff_max_us = 300'000;
  options.wait_for_connection = true;
  client_ = stage.client(std::move(options), stage.random_of("keeper", 0).next());
}

void Keeper::close() {
  client_->close();
  reader_.close();
}

void Keeper::note(std::string_view what, Errc code) {
  ++stage_.answers[fmt::format("{} {}", what, errc_name(code))];
}

void Keeper::complain(std::string_view what, const Error& error) {
  stage_.complain(fmt::format("{}: {}", what, error.to_string()));
}

Async<void> Keeper::beat(uint32_t number) {
  Random random = stage_.random_of("keeper", number + 1);
  co_await sleep_us(stage_.loop.timers(), static_cast<int64_t>(random.below(10'000)));
  if (job_) co_await follow();
  if (!job_ && random.one_in(2)) co_await list(false);
  if (!job_) {
    constexpr Kind kKinds[] = {Kind::take,   Kind::take,    Kind::take,    Kind::restore,
                               Kind::verify, Kind::restore, Kind::restore, Kind::prune};
    co_await start(kKinds[random.below(8)], random);
  }
  if (restored_.empty() || stage_.problem) co_return;
  const Restored one = restored_[random.below(restored_.size())];
  if (stage_.plan.has(Feature::rules) && random.one_in(2)) co_await alter(one, random);
  co_await look_into(one, &random);
}

Keeper::Backup* Keeper::intact(Random& random) {
  std::vector<Backup*> all;
  for (Backup& backup : backups_) {
    if (backup.done && !backup.pruned) all.push_back(&backup);
  }
  return all.empty() ? nullptr : all[random.below(all.size())];
}

Async<void> Keeper::start(Kind kind, Random& random) {
  Backup* backup = intact(random);
  if (backup == nullptr) kind = Kind::take;
  if (kind == Kind::take && backups_.size() >= kMaxBackups && !must_) kind = Kind::restore;
  if (kind == Kind::restore && branches_ == kMaxRestored) kind = Kind::verify;
  if (kind != Kind::take && backup == nullptr) co_return;
  client::BackupCommand command;
  command.directory = kDirectory;
  Job job;
  job.kind = kind;
  if (kind == Kind::take) {
    command.action = BackupAction::take;
    Backup& made = backups_.emplace_back();
    made.number = static_cast<uint32_t>(backups_.size());
    made.name = fmt::format("backup{}", made.number);
    made.copy = stage_.begin(Verb::back_up, "keeper");
    made.seal = stage_.begin(Verb::seal_backup, "keeper");
    made.copy.backup = made.seal.backup = made.number;
    command.name = made.name;
    job.backup = made.number;
  } else if (kind == Kind::prune) {
    command.action = BackupAction::prune;
    command.keep = 2;
    for (Backup& one : backups_) one.pruned = true;  // until the list shows them
  } else {
    command.action = kind == Kind::verify ? BackupAction::verify : BackupAction::restore;
    command.name = backup->name;
    job.backup = backup->number;
  }
  if (kind == Kind::restore) {
    const auto& tables = stage_.history.tables();
    job.table = tables[random.below(tables.size())];
    job.branch = ++branches_;
    job.op = stage_.begin(Verb::restore_backup, "keeper");
    job.op.backup = job.backup;
    job.op.branch = job.branch;
    command.table = job.table;
    command.new_table = fmt::format("r{}", job.branch);
  }
  co_await begin_job(std::move(command), std::move(job));
}

Async<void> Keeper::begin_job(client::BackupCommand command, Job job) {
  job_ = std::move(job);
  const auto started = co_await client_->async_backup(command, kAwaited);
  note(fmt::format("backup {}", static_cast<int>(command.action)),
       started ? Errc::ok : started.error().code);
  const uint64_t tick = stage_.history.tick();
  if (job_->kind == Kind::take) {
    at(job_->backup).copy.given_up = at(job_->backup).seal.given_up = tick;
  }
  if (started) {
    job_->number = started->job;
    co_await follow();
  } else if (started.error().applied == Applied::not_applied) {
    // One whose start was not answered may run.
    const bool other = started.error().message.starts_with("another job");
    if (!is_transient(started.error().code) && !other) {
      complain("a job of backups is refused", started.error());
    }
    ended(other ? Error(Errc::unavailable, started.error().message) : started.error());
  }
}

Async<void> Keeper::follow() {
  constexpr int64_t kLookUs = 20'000;
  constexpr int kLooks = 50;
  for (int i = 0; i < kLooks && job_ && !stage_.problem; ++i) {
    const client::BackupCommand command{.action = BackupAction::status};
    const auto status = co_await client_->async_backup(command, kAwaited);
    last_look_ =
        status ? fmt::format("job {} {}", status->job, status->phase) : status.error().to_string();
    if (!status) co_return;  // in a later beat
    if (job_->number != 0 && status->job != job_->number) {
      ended(Error(Errc::aborted, "its life ended, or another job came after it"));
      co_return;
    }
    // Only this client starts jobs, and the next one when the last is over. One whose start was
    // not answered may begin late.
    const bool mine = job_->number != 0 ? status->job == job_->number : status->running;
    if (mine && !status->running) {
      ended(status->error);
      co_return;
    }
    if (job_->number == 0 && status->running) job_->number = status->job;
    if (job_->number == 0 && i + 1 == kLooks) {
      ended(Error(Errc::aborted, "it has not begun"));
      co_return;
    }
    co_await sleep_us(stage_.loop.timers(), kLookUs);
  }
}

Async<void> Keeper::follow_to_the_end() {
  for (int i = 0; i < 100 && job_ && !stage_.problem; ++i) co_await follow();
  if (job_) {
    stage_.complain(fmt::format("a job of backups hangs: kind {}, number {}, {}",
                                static_cast<int>(job_->kind), job_->number, last_look_));
  }
}

// Without an error: done.
void Keeper::ended(const std::optional<Error>& error) {
  if (error) note("job", error->code);
  if (error && error->code != Errc::not_found) failed_ = *error;
  const Job job = *std::exchange(job_, std::nullopt);
  if (job.kind == Kind::restore) {
    job_ = job;
    ended_restore(error);
    job_.reset();
    return;
  }
  if (error && error->code == Errc::data_loss) complain("a backup is damaged", *error);
  if (job.kind == Kind::verify && error && !is_transient(error->code)) {
    complain("a backup is not intact", *error);
  }
  if (job.kind != Kind::take || error) return;
  Backup& backup = at(job.backup);
  stage_.answered(backup.copy);
  stage_.answered(backup.seal);
  backup.copy.given_up = backup.seal.given_up = UINT64_MAX;
  backup.done = true;
}

void Keeper::ended_restore(const std::optional<Error>& error) {
  Job& job = *job_;
  if (error && error->code == Errc::not_found) {
    // Dropped when the backup was made.
    RowOp absent = at(job.backup).copy;
    absent.refused = Refused::absent;
    stage_.history.add_to_all(job.table, absent);
    return;
  }
  if (error && error->code == Errc::data_loss) complain("a backup is damaged", *error);
  if (error && error->code == Errc::failed_precondition) complain("no restoration", *error);
  record_copy(at(job.backup), job.table);
  if (error) stage_.unanswered(job.op);
  if (!error) stage_.answered(job.op);
  stage_.history.add_to_all(job.table, job.op);
  restored_.push_back({job.branch, job.table, fmt::format("r{}", job.branch)});
}

void Keeper::record_copy(Backup& backup, const std::string& table) {
  if (!backup.recorded.insert(table).second) return;
  stage_.history.add_to_all(table, backup.copy);
  stage_.history.add_to_all(table, backup.seal);
}

// Rows of a restored table; some of them if drawn.
Async<void> Keeper::look_into(Restored restored, Random* random) {
  for (const std::string& row : stage_.history.rows()) {
    if (stage_.problem) co_return;
    if (random != nullptr && random->one_in(2)) continue;
    co_await reader_.read_restored(restored.name, restored.table, restored.branch, row);
  }
}

Async<void> Keeper::alter(Restored restored, Random& random) {
  const auto& families = stage_.plan.families;
  const FamilyPlan& family = families[random.below(families.size())];
  const bool undoes = random.one_in(2);
  RowOp op = stage_.begin(undoes ? Verb::undo_rule : Verb::change_rule, "keeper");
  op.family = family.name;
  op.branch = restored.branch;
  if (undoes) {
    client::UndoRule undo;
    undo.table = restored.name;
    undo.family = family.name;
    const auto done = co_await client_->async_undo_rule(undo, kAwaited);
    altered(restored, std::move(op), done ? nullptr : &done.error());
    co_return;
  }
  op.rule = draw_rule(family, random);
  client::TableChange change;
  change.name = restored.name;
  client::FamilySpec& spec = change.alter.emplace_back();
  spec.name = family.name;
  spec.rule_given = true;
  spec.rule = rule_of(family.kind, op.rule);
  const auto done = co_await client_->async_alter_table(change, kAwaited);
  altered(restored, std::move(op), done ? nullptr : &done.error());
}

void Keeper::altered(const Restored& restored, RowOp op, const Error* error) {
  const bool undoes = op.verb == Verb::undo_rule;
  note(undoes ? "undo in a restored table" : "change in a restored table",
       error == nullptr ? Errc::ok : error->code);
  if (error != nullptr && error->applied != Applied::not_applied) {
    stage_.unanswered(op);
    stage_.history.add_to_all(restored.table, op);
    return;
  }
  stage_.answered(op);
  if (error != nullptr) {
    if (is_transient(error->code)) return;
    const bool nothing = undoes && error->code == Errc::failed_precondition;
    if (!nothing && error->code != Errc::not_found) complain(op.text(), *error);
    op.refused = nothing ? Refused::no_undo : Refused::absent;
  }
  stage_.history.add_to_all(restored.table, op);
}

Async<void> Keeper::list(bool must) {
  client::BackupCommand command{.action = BackupAction::list, .directory = kDirectory};
  const auto listed = co_await client_->async_backup(command, kAwaited);
  if (!listed) {
    if (must || !is_transient(listed.error().code))
      complain("backups cannot be listed", listed.error());
    co_return;
  }
  for (Backup& backup : backups_) {
    const auto found = std::find_if(listed->backups.begin(), listed->backups.end(),
                                    [&](const auto& one) { return one.name == backup.name; });
    const bool there = found != listed->backups.end();
    if (!there && backup.done && !backup.pruned) {
      stage_.complain(fmt::format("backup '{}' is gone", backup.name));
    }
    if (!there) {
      backup.done = false;
      continue;
    }
    // Its end was not seen.
    if (!backup.done) {
      const uint64_t given_up = backup.copy.given_up;
      stage_.answered(backup.copy);
      stage_.answered(backup.seal);
      backup.copy.given_up = backup.seal.given_up = given_up;
    }
    backup.done = true;
    backup.pruned = false;
    backup.tables = {found->tables.begin(), found->tables.end()};
  }
}

// Nothing disturbs, but a connection may still be dead from before: then a start is not answered.
Async<void> Keeper::until_done(Kind kind, Random& random) {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries && !stage_.problem; ++i) {
    failed_.reset();
    co_await start(kind, random);
    co_await follow_to_the_end();
    if (!failed_) co_return;
  }
  if (failed_) complain("a job of backups fails though nothing disturbs it", *failed_);
}

Async<void> Keeper::verify_all() {
  for (size_t i = 0; i < backups_.size() && !stage_.problem; ++i) {
    if (!backups_[i].done) continue;
    client::BackupCommand command{
        .action = BackupAction::verify, .directory = kDirectory, .name = backups_[i].name};
    Job job;
    job.kind = Kind::verify;
    job.backup = backups_[i].number;
    co_await begin_job(std::move(command), std::move(job));
    co_await follow_to_the_end();
  }
}

Async<void> Keeper::finish() {
  Random random = stage_.random_of("keeper", UINT32_MAX);
  co_await follow_to_the_end();
  must_ = true;
  co_await until_done(Kind::take, random);
  if (stage_.problem) co_return;
  co_await list(true);
  co_await verify_all();
  if (stage_.problem) co_return;
  if (branches_ < kMaxRestored) co_await until_done(Kind::restore, random);
  for (const Restored& one : std::vector<Restored>(restored_)) co_await look_at_all(one, random);
}

// A rule that was tightened before the backup can still be undone, and what it killed stays dead.
Async<void> Keeper::look_at_all(Restored restored, Random& random) {
  co_await look_into(restored, nullptr);
  if (!stage_.plan.has(Feature::rules)) co_return;
  for (int i = 0; i < 2 && !stage_.problem; ++i) co_await alter(restored, random);
  co_await look_into(restored, nullptr);
}

std::optional<std::string> Keeper::last_backup() const {
  for (auto it = backups_.rbegin(); it != backups_.rend(); ++it) {
    if (it->done) return it->name;
  }
  return std::nullopt;
}

Async<void> Keeper::read_new_node() {
  Random random = stage_.random_of("new node", 1);
  const auto it =
      std::find_if(backups_.rbegin(), backups_.rend(), [](const Backup& one) { return one.done; });
  for (const std::string& table : stage_.history.tables()) {
    if (!it->tables.contains(table)) {
      RowOp absent = it->copy;
      absent.refused = Refused::absent;
      stage_.history.add_to_all(table, absent);
      continue;
    }
    record_copy(*it, table);
    RowOp op = stage_.begin(Verb::restore_backup, "new node");
    op.backup = it->number;
    op.branch = ++branches_;
    stage_.answered(op);
    stage_.history.add_to_all(table, op);
    co_await look_at_all({op.branch, table, table}, random);
  }
}

}  // namespace cellar::simulation
