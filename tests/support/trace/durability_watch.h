// DurabilityWatch: tells a DurabilityLedger of the file operations of a traced process, by system
// calls and by io_uring, and judges at two kinds of moments:
//
//   marks   the process writes a text to the descriptor kMarkFd: `on_mark` is called first
//   answers a text of look_for() was received from a socket, and the process sends to that socket:
//           the text must be durable before the send
//
// An operation on files that it does not know is recorded in unknown(), so that a new way of
// writing cannot pass unseen. Files opened with O_DSYNC or O_SYNC count as not synced.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/trace/durability_ledger.h"
#include "tests/support/trace/ring_view.h"

namespace cellar::test {

class DurabilityWatch final : public CallVisitor {
 public:
  static constexpr int kMarkFd = 900;

  struct Answer {
    std::string text;
    std::string missing;  // why a power cut could lose it; empty: durable
  };

  // Judges what lies in `root`, and the name of `root` itself.
  explicit DurabilityWatch(std::string root) : root_(std::move(root)) {}

  // Before the process starts. A text that `stays` must have a durable copy after every removal and
  // renaming of a file, too, once it has been durable at an answer.
  void look_for(const std::string& text, bool stays = false);
  std::function<void(const std::string& mark)> on_mark;

  const DurabilityLedger& ledger() const { return ledger_; }
  pid_t process() const { return process_; }
  // After the process ended.
  const std::vector<Answer>& answers() const { return answers_; }
  // The removals and renamings that took the last durable copy of a text that stays.
  const std::vector<std::string>& taken() const { return taken_; }
  const std::set<std::string>& unknown() const { return unknown_; }
  // Finished writes, syncs and changes of names in `root`.
  uint64_t operations() const { return operations_; }

  void started(pid_t process) override;
  void entered(const SystemCall& call) override;
  void left(const SystemCall& call, int64_t result) override;

 private:
  struct Place {
    FileId directory;
    std::string path;
    bool exists = false;
  };

  // Files.
  std::string path_of(int fd) const;  // empty: no file of `root`
  FileId id_of(int fd) const;
  bool within(const std::string& path) const;
  Place place(int directory, uint64_t name_address) const;
  std::string text_at(uint64_t address) const;
  uint64_t begin_write(int fd, uint64_t offset, uint64_t size, bool dsync, const std::string& data);
  void begin(const SystemCall& call, uint64_t operation);

  // System calls.
  void enter_write(const SystemCall& call);
  void enter_names(const SystemCall& call);
  void enter_unknown(const SystemCall& call);
  void leave_names(const SystemCall& call);
  void check_those_that_stay(const std::string& removed);
  std::string gather(const SystemCall& call, int64_t limit) const;

  // Rings.
  void enter_ring(const SystemCall& call);
  void leave_ring(const SystemCall& call, int64_t result);
  void end_completed();

  // Sockets.
  bool is_socket(int fd) const;
  void received(int fd, const std::string& data);
  void sends(int fd);

  const std::string root_;
  pid_t process_ = -1;
  DurabilityLedger ledger_;
  RingView rings_;
  std::vector<std::string> texts_;
  std::map<pid_t, uint64_t> operations_of_calls_;               // by thread
  std::map<pid_t, std::vector<Place>> places_;                  // by thread
  std::map<pid_t, std::vector<RingView::Submission>> entries_;  // by thread
  std::map<std::pair<int, uint64_t>, uint64_t> in_rings_;       // ring and user data: operation
  std::map<int, std::vector<std::string>> asked_;               // socket: texts without an answer
  std::vector<Answer> answers_;
  std::set<std::string> that_stay_;
  std::set<std::string> durable_at_answer_;  // of those that stay
  std::vector<std::string> taken_;
  std::set<std::string> unknown_;
  uint64_t operations_ = 0;
};

}  // namespace cellar::test
