// RowModel: the contents of a table, directly by SEMANTICS 1, 2 and 6: a list of commits, replayed
// operation by operation into a map. Nothing in it dies by time or by a rule (see
// retention_model.h). It shares no code with the engine beyond the types of requests, so that the
// two can be compared. Simple rather than fast.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/model/mutation.h"
#include "engine/model/read_spec.h"
#include "engine/model/schema.h"

namespace cellar::support {

// A mutation that owns its bytes.
struct OwnedMutation {
  Mutation::Kind kind = Mutation::Kind::set_cell;
  std::string family;
  std::string qualifier;
  std::string value;
  int64_t timestamp_us = kServerStamped;
  int64_t start_us = 0;
  int64_t end_us = kMaxTimestampUs;
  int64_t expire_at_us = kNoExpiry;
  int64_t ttl_us = kNoTtl;

  Mutation view() const;
};

struct OwnedCell {
  std::string row;
  std::string family;
  std::string qualifier;
  int64_t timestamp_us = 0;
  std::string value;
  std::string label = {};

  bool operator==(const OwnedCell&) const = default;
};
std::string to_text(const std::vector<OwnedCell>& cells);

class RowModel {
 public:
  explicit RowModel(Granularity granularity = Granularity::micros) : granularity_(granularity) {}

  void mutate(CommitStamp stamp, std::string row, std::vector<OwnedMutation> ops, int64_t now_us);
  void drop_rows(CommitStamp stamp, std::string start, std::string end);
  // Everything committed to the family so far is removed.
  void drop_family(CommitStamp stamp, std::string family);

  // What a reader sees as of `at`.
  std::vector<OwnedCell> read(const ReadSpec& spec, CommitStamp at = kMaxStamp) const;

 private:
  struct Commit {
    CommitStamp stamp;
    std::string row;
    std::vector<OwnedMutation> ops;
    int64_t now_us = 0;
    std::optional<KeyRange> dropped;
    std::string dropped_family;
  };
  struct Older {
    bool operator()(int64_t a, int64_t b) const { return a > b; }
  };
  using Column = std::map<int64_t, std::string, Older>;
  using Row = std::map<std::pair<std::string, std::string>, Column>;
  using State = std::map<std::string, Row>;

  void apply(const Commit& commit, State& state) const;
  State replay(CommitStamp at) const;

  Granularity granularity_;
  std::vector<Commit> commits_;
};

}  // namespace cellar::support
