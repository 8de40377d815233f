// RetentionModel: what a table holds when cells age, by the letter of SEMANTICS 3 and 5: every read
// replays the whole history of a column on the timeline, looks at each living version at each
// instant at which anything could happen, and asks the rule tree as it is written. Nothing is
// shared with engine/retention. Slow on purpose.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/model/retention_rule.h"
#include "tests/support/row_model.h"

namespace cellar::support {

class RetentionModel {
 public:
  void create_family(const std::string& family, RetentionRule rule, int64_t undo_window_us);
  void mutate(CommitStamp stamp, std::string row, std::vector<OwnedMutation> ops);
  void drop_rows(CommitStamp stamp, std::string start, std::string end);
  // True when the change would need a ninth undo window: refused, nothing changes.
  bool refuses(const std::string& family, const RetentionRule& rule, int64_t now_us) const;
  void change_rule(CommitStamp stamp, int64_t now_us, const std::string& family,
                   RetentionRule rule);

  std::vector<OwnedCell> read(int64_t now_us) const;

 private:
  struct Commit {
    CommitStamp stamp;
    std::string row;
    std::vector<OwnedMutation> ops;
    bool is_drop = false;
    KeyRange dropped;
  };
  // A rule and since when; `undo_until_us` of the change that brought it, 0: it stays.
  struct InForce {
    uint64_t since_ns = 0;
    RetentionRule rule;
    int64_t undo_until_us = 0;
  };
  struct Family {
    std::vector<InForce> rules;  // oldest first
    int64_t undo_window_us = 0;
  };
  struct Version {
    std::string value;
    int64_t expire_at_us = kNoExpiry;
  };
  struct Newest {
    bool operator()(int64_t a, int64_t b) const { return a > b; }
  };
  using Column = std::map<int64_t, Version, Newest>;

  Column replay(const std::string& row, const std::string& family, const std::string& qualifier,
                uint64_t until_ns) const;
  static std::vector<InForce> changed(const Family& family, const RetentionRule& rule,
                                      uint64_t stamp_ns, int64_t now_us, bool* refused);

  std::map<std::string, Family> families_;
  std::vector<Commit> commits_;
  std::map<std::string, std::set<std::pair<std::string, std::string>>> columns_;  // of each row
};

}  // namespace cellar::support
