// RetentionModel: the contents of a table whose cells age, directly by SEMANTICS 3 and 5: every
// read replays the whole history of a column on the timeline, visits each live version at each
// instant at which anything could happen, and evaluates the rule tree as written. It shares nothing
// with engine/retention. Simple rather than fast; it caches only the state at a column's last
// commit, and only until a rule changes.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/model/retention_rule.h"
#include "tests/support/row_model.h"

namespace cellar::support {

class RetentionModel {
 public:
  explicit RetentionModel(Granularity granularity = Granularity::micros)
      : granularity_(granularity) {}

  void create_family(const std::string& family, RetentionRule rule, int64_t undo_window_us);
  // The write guards of the family (SEMANTICS 4); without this call it accepts everything.
  void guard_family(const std::string& family, TimestampMeaning timestamps, BornDead born_dead,
                    WriteWindow window);
  // The error of a write of these at that instant, for its form or by the guards; nothing:
  // accepted.
  std::optional<Errc> refusal(const std::vector<OwnedMutation>& ops, int64_t now_us) const;
  // Server timestamps and times to live count from the stamp.
  void mutate(CommitStamp stamp, std::string row, std::vector<OwnedMutation> ops);
  void drop_rows(CommitStamp stamp, std::string start, std::string end);
  // True if the change would need a ninth undo window: it is refused without effect.
  bool refuses(const std::string& family, const RetentionRule& rule, int64_t now_us) const;
  // `close_oldest`: closes the oldest window if a ninth would open.
  void change_rule(CommitStamp stamp, int64_t now_us, const std::string& family, RetentionRule rule,
                   bool close_oldest = false);

  std::vector<OwnedCell> read(int64_t now_us) const;
  std::vector<OwnedCell> read_row(const std::string& row, int64_t now_us) const;
  // The timestamp that the server assigns at that instant.
  int64_t server_stamp(int64_t now_us) const { return now_us - now_us % granule_us(granularity_); }

 private:
  struct Commit {
    CommitStamp stamp;
    std::string row;
    std::vector<OwnedMutation> ops;
    bool is_drop = false;
    KeyRange dropped;
  };
  // A rule and its beginning; `undo_until_us` of the change that installed it, 0: it cannot be
  // undone.
  struct InForce {
    uint64_t since_ns = 0;
    RetentionRule rule;
    int64_t undo_until_us = 0;
  };
  struct Family {
    std::vector<InForce> rules;  // oldest first
    int64_t undo_window_us = 0;
    TimestampMeaning timestamps = TimestampMeaning::time;
    BornDead born_dead = BornDead::accept;
    WriteWindow window = {};
  };
  struct Version {
    std::string value;
    int64_t expire_at_us = kNoExpiry;
  };
  struct Newest {
    bool operator()(int64_t a, int64_t b) const { return a > b; }
  };
  using Column = std::map<int64_t, Version, Newest>;

  using ColumnName = std::pair<std::string, std::string>;
  // The state of a column's replay at its last commit.
  struct Place {
    size_t commits = 0;  // replayed commits of the row
    uint64_t at = 0;
    Column alive;
  };
  struct Row {
    std::set<ColumnName> columns;
    std::vector<const Commit*> commits;
    mutable std::map<ColumnName, Place> places;
  };

  Column replay(const Row& row, const ColumnName& column, uint64_t until_ns) const;
  void read_into(std::vector<OwnedCell>& cells, const std::string& name, const Row& row,
                 int64_t now_us) const;
  bool born_dead(const Family& family, const OwnedMutation& op, int64_t now_us) const;
  static std::vector<InForce> changed(const Family& family, const RetentionRule& rule,
                                      uint64_t stamp_ns, int64_t now_us, bool close_oldest,
                                      bool* refused);

  Granularity granularity_;
  std::map<std::string, Family> families_;
  std::deque<Commit> commits_;
  std::map<std::string, Row> rows_;
};

}  // namespace cellar::support
