// Keeper: the client that takes backups while the others work, verifies and prunes them, and
// restores tables of them, whose rows it then reads. A job that the end of a life interrupts must
// leave all other backups as they were, and no half of a table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/actor.h"
#include "tests/simulation/stage.h"

namespace cellar::simulation {

class Keeper {
 public:
  // What a run has at most, so that its end does not take the most time.
  static constexpr uint32_t kMaxBackups = 5;
  static constexpr uint32_t kMaxRestored = 4;

  explicit Keeper(Stage& stage);

  // Starts or follows one job, and reads from a restored table.
  Async<void> beat(uint32_t number);
  // Without faults: every backup is there and intact, another one can be taken, every restored
  // table is read.
  Async<void> finish();
  // The backup for a new node; none was taken.
  std::optional<std::string> last_backup() const;
  // On a new node that was restored from last_backup(): reads every row of its tables.
  Async<void> read_new_node();
  void close();

 private:
  enum class Kind : uint8_t { take, verify, prune, restore };
  struct Backup {
    uint32_t number = 0;  // from 1
    std::string name;
    RowOp copy, seal;              // as recorded once something was restored
    bool done = false;             // taken: it must be there until it is pruned
    bool pruned = false;           // or may be
    std::set<std::string> tables;  // as listed
    std::set<std::string> recorded;
  };
  struct Job {
    Kind kind = Kind::take;
    uint64_t number = 0;  // as the life counts; 0: the start was not answered
    uint32_t backup = 0;
    uint32_t branch = 0;
    std::string table;
    RowOp op;  // restore
  };
  struct Restored {
    uint32_t branch = 0;
    std::string table;  // that it was
    std::string name;
  };

  Async<void> start(Kind kind, Random& random);
  Async<void> begin_job(client::BackupCommand command, Job job);
  // Returns when the job is over, or after a while.
  Async<void> follow();
  Async<void> follow_to_the_end();
  void ended(const std::optional<Error>& error);
  void ended_restore(const std::optional<Error>& error);
  Async<void> list(bool must);
  Async<void> until_done(Kind kind, Random& random);
  Async<void> verify_all();
  Async<void> look_into(Restored restored, Random* random);
  Async<void> look_at_all(Restored restored, Random& random);
  // Changes or undoes a rule of a restored table.
  Async<void> alter(Restored restored, Random& random);
  void altered(const Restored& restored, RowOp op, const Error* error);
  void record_copy(Backup& backup, const std::string& table);
  void complain(std::string_view what, const Error& error);
  void note(std::string_view what, Errc code);
  Backup* intact(Random& random);
  Backup& at(uint32_t number) { return backups_.at(number - 1); }

  Stage& stage_;
  std::unique_ptr<client::Client> client_;
  Actor reader_;
  std::vector<Backup> backups_;
  std::vector<Restored> restored_;
  std::optional<Job> job_;
  bool must_ = false;            // nothing disturbs any more
  std::optional<Error> failed_;  // of the last job that failed
  uint32_t branches_ = 0;
  std::string last_look_;  // at a job, for the report
};

}  // namespace cellar::simulation
