// Every kind of change whose answer is lost while another client acts, made by `cellar` and by the
// C++ client, without tokens and with generated ones. No acknowledged change of the other client
// may be undone, and no change may be applied twice.
#include <chrono>
#include <functional>
#include <thread>

#include "net/client/sync_client.h"
#include "net/wire/body.h"
#include "tests/net/cli/answer_dropper.h"
#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

using client::CallOptions;
using client::Mutation;
using client::SyncClient;
using wire::fb::Op;
using Words = std::vector<std::string>;

// The error of the attempt, if it has one.
using Attempt = std::function<std::optional<Error>(SyncClient&, const CallOptions&)>;

struct Trial {
  std::string name;
  Op op = Op::MutateRow;
  std::vector<Words> before;     // by the first client, without a lost answer
  Words attempt;                 // the change whose answer is lost
  Attempt call;                  // the same change through the C++ client
  std::vector<Words> meanwhile;  // by the other client
  std::string after;             // cells of rows with the prefix of the row, see cells()
  bool tokens = true;            // it can carry a token
  int pause_ms = 0;              // meanwhile
};

template <class T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional<Error>(result.error());
}

Attempt mutate(std::function<void(Mutation&)> fill) {
  return [fill = std::move(fill)](SyncClient& c, const CallOptions& options) {
    Mutation m("r");
    fill(m);
    return error_of(c.mutate_row("t", m, options));
  };
}

Attempt drop_prefix() {
  return [](SyncClient& c, const CallOptions& options) {
    client::DropRows drop;
    drop.prefix = "r";
    return error_of(c.drop_row_range("t", drop, options));
  };
}

Attempt modify(client::ModifyRule rule) {
  return [rule = std::move(rule)](SyncClient& c, const CallOptions& options) {
    return error_of(c.read_modify_write("t", {"r", {rule}, std::nullopt}, options));
  };
}

std::optional<Error> check_then_set(SyncClient& c, const CallOptions& options) {
  client::CheckAndMutate check;
  check.row = "r";
  check.then_mutation.set("f", "again", "x", 5000);
  check.else_mutation.set("f", "q", "A", 5000);
  return error_of(c.check_and_mutate("t", check, options));
}

// Writes like an import: a batch; the result is that of its first entry.
std::optional<Error> batch(SyncClient& c, const CallOptions& options) {
  std::vector<Mutation> entries;
  for (const char* row : {"r1", "r2"}) entries.emplace_back(row).set("f", "q", "A", 5000);
  const auto results = c.mutate_rows("t", entries, options);
  if (!results) return results.error();
  return error_of(results->front());
}

std::optional<Error> create_other(SyncClient& c, const CallOptions& /*options*/) {
  client::TableSpec spec;
  spec.name = "other";
  return error_of(c.create_table(spec));
}

std::optional<Error> undo(SyncClient& c, const CallOptions& /*options*/) {
  client::UndoRule back;
  back.table = "t";
  back.family = "f";
  return error_of(c.undo_rule(back));
}

std::vector<Trial> row_trials() {
  const Words set = {"set", "t", "r", "f:q=A@5000"};
  const Attempt set_call = mutate([](Mutation& m) { m.set("f", "q", "A", 5000); });
  const Words b_sets = {"set", "t", "r", "f:q=B@5000"};
  return {
      {"a cell, then its row is deleted",
       Op::MutateRow,
       {},
       set,
       set_call,
       {{"deleterow", "t", "r"}},
       ""},
      {"a cell, then its column is deleted",
       Op::MutateRow,
       {},
       set,
       set_call,
       {{"deletecolumn", "t", "r", "f:q"}},
       ""},
      {"a cell, then its rows are dropped",
       Op::MutateRow,
       {},
       set,
       set_call,
       {{"droprows", "t", "prefix=r", "--yes"}},
       ""},
      {"a cell, then its version is overwritten",
       Op::MutateRow,
       {},
       set,
       set_call,
       {b_sets},
       "r f:q=B "},
      {"a cell with a time to live, which then is over",
       Op::MutateRow,
       {},
       {"set", "t", "r", "f:q=A@5000", "ttl=200ms"},
       mutate([](Mutation& m) { m.set("f", "q", "A", 5000).with_ttl(200'000); }),
       {},
       "",
       true,
       300},
      {"a cell stamped by the node, then its row is deleted",
       Op::MutateRow,
       {},
       {"set", "t", "r", "f:q=A"},
       mutate([](Mutation& m) { m.set("f", "q", "A"); }),
       {{"deleterow", "t", "r"}},
       ""},
      {"a column's delete, then a write",
       Op::MutateRow,
       {set},
       {"deletecolumn", "t", "r", "f:q"},
       mutate([](Mutation& m) { m.delete_column("f", "q"); }),
       {b_sets},
       "r f:q=B "},
      {"a family's delete, then a write",
       Op::MutateRow,
       {set},
       {"deletefamily", "t", "r", "f"},
       mutate([](Mutation& m) { m.delete_family("f"); }),
       {b_sets},
       "r f:q=B "},
      {"a row's delete, then a write",
       Op::MutateRow,
       {set},
       {"deleterow", "t", "r"},
       mutate([](Mutation& m) { m.delete_row(); }),
       {b_sets},
       "r f:q=B "},
      {"an increment, then another",
       Op::ReadModifyWriteRow,
       {},
       {"increment", "t", "r", "f:q"},
       modify({"f", "q", std::nullopt, 1}),
       {{"increment", "t", "r", "f:q=10"}},
       "r f:q=11 "},
      {"an append, then another",
       Op::ReadModifyWriteRow,
       {},
       {"append", "t", "r", "f:q=A"},
       modify({"f", "q", "A", 0}),
       {{"append", "t", "r", "f:q=B"}},
       "r f:q=AB "},
      {"a condition, then its row is deleted",
       Op::CheckAndMutateRow,
       {},
       {"checkandmutate", "t", "r", "then", "f:again=x@5000", "else", "f:q=A@5000"},
       check_then_set,
       {{"deleterow", "t", "r"}},
       ""},
  };
}

std::vector<Trial> other_trials() {
  const Words tighter = {"gc", "set", "t", "f", "maxversions=3", "--yes"};
  const Words tightest = {"gc", "set", "t", "f", "maxversions=2", "--yes"};
  return {
      {"a range delete, then a write",
       Op::DropRowRange,
       {{"set", "t", "r1", "f:q=old@5000"}},
       {"droprows", "t", "prefix=r", "--yes"},
       drop_prefix(),
       {{"set", "t", "r1", "f:q=B@5000"}, {"set", "t", "r2", "f:q=B@5000"}},
       "r1 f:q=B r2 f:q=B "},
      {"an import, then a row of it is deleted",
       Op::MutateRows,
       {},
       {"import", "t", "FILE"},
       batch,
       {{"deleterow", "t", "r2"}},
       "r1 f:q=A "},
      {"a table's creation, then it is dropped",
       Op::CreateTable,
       {},
       {"createtable", "other", "families=f"},
       create_other,
       {{"deletetable", "other", "--yes"}},
       "",
       false},
      {"a rule's undo, then it is tightened again",
       Op::UndoRule,
       {tighter, tightest},
       {"gc", "undo", "t", "f"},
       undo,
       {tightest},
       "",
       false},
  };
}

class DroppedAnswer : public CliBed {
 protected:
  void SetUp() override {
    good({"createtable", "t", "families=f", "splits=r2"});
    client::ClientOptions options;
    options.address = node_address();
    direct_ = std::make_unique<SyncClient>(options);
  }
  void TearDown() override {
    EXPECT_TRUE(direct_->drop_table("t"));
    (void)direct_->drop_table("other");
    direct_.reset();
  }
  static std::string node_address() { return std::getenv("CELLAR_ADDR"); }

  // "row family:qualifier=value " of each column; a counter as its number.
  std::string cells() {
    client::ReadRows read = client::ReadRows::prefix("r");
    read.filter = client::Filter::cells_per_column(1);
    client::ReadStream stream = direct_->read_rows("t", read);
    std::string text;
    while (true) {
      const auto block = direct_->next(stream);
      EXPECT_TRUE(block.has_value());
      if (!block || block->empty()) return text;
      for (const client::RowPart& row : block->rows()) {
        for (const client::Cell& cell : row.cells) {
          std::string value(cell.value);
          if (value.size() == 8) value = std::to_string(static_cast<uint8_t>(value.back()));
          text += fmt::format("{} {}:{}={} ", row.key, cell.family, cell.qualifier, value);
        }
      }
    }
  }
  std::function<void()> acts(const Trial& trial) {
    return [trial] {
      std::this_thread::sleep_for(std::chrono::milliseconds(trial.pause_ms));
      for (const Words& words : trial.meanwhile) {
        const Outcome outcome = cellar(words);
        EXPECT_EQ(outcome.code, kDone) << outcome.err;
      }
    };
  }
  void expect_no_harm(const Trial& trial) {
    EXPECT_EQ(cells(), trial.after);
    if (trial.op == Op::CreateTable) {
      const auto other = direct_->describe_table("other");
      EXPECT_FALSE(other.has_value()) << "the table that was dropped is there again";
    }
    if (trial.op == Op::UndoRule) {
      EXPECT_NE(good({"gc", "show", "t"}).find("maxversions=2"), std::string::npos);
    }
  }

  void play_program(const Trial& trial);
  void play_client(const Trial& trial, bool draw_tokens);

  std::unique_ptr<SyncClient> direct_;
};

void DroppedAnswer::play_program(const Trial& trial) {
  for (const Words& words : trial.before) good(words);
  tests::AnswerDropper proxy(node_address(), static_cast<uint16_t>(trial.op), acts(trial));
  Words words = trial.attempt;
  const bool import = words[0] == "import";
  if (import) {
    words[2] = write_file("rows.jsonl",
                          "{\"row\":\"r1\",\"cells\":[{\"family\":\"f\",\"qualifier\":\"q\","
                          "\"timestamp\":5000,\"value\":\"A\"}]}\n"
                          "{\"row\":\"r2\",\"cells\":[{\"family\":\"f\",\"qualifier\":\"q\","
                          "\"timestamp\":5000,\"value\":\"A\"}]}\n");
  }
  words.insert(words.end(), {"--addr", proxy.address()});
  const Outcome outcome = cellar(words);
  EXPECT_TRUE(proxy.dropped());
  expect_no_harm(trial);
  if (trial.tokens && !import) {
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    EXPECT_EQ(proxy.requests(), 2);
    return;
  }
  EXPECT_EQ(outcome.code, kUnreachable) << outcome.err;
  EXPECT_EQ(proxy.requests(), 1);
  const std::string doubt =
      import ? "in doubt: lines 1 to 2 may have been written" : "may have been applied";
  EXPECT_NE(outcome.err.find(doubt), std::string::npos) << outcome.err;
  if (!import) return;
  // The printed command resumes the import, and the message says that it writes again.
  const std::string command =
      fmt::format("cellar import t {} --addr {} --resume\n", words[2], proxy.address());
  EXPECT_NE(outcome.err.find(command), std::string::npos) << outcome.err;
  words.push_back("--resume");
  good(words);
  EXPECT_EQ(cells(), "r1 f:q=A r2 f:q=A ");
}

void DroppedAnswer::play_client(const Trial& trial, bool draw_tokens) {
  for (const Words& words : trial.before) good(words);
  tests::AnswerDropper proxy(node_address(), static_cast<uint16_t>(trial.op), acts(trial));
  client::ClientOptions options;
  options.address = proxy.address();
  options.draw_tokens = draw_tokens;
  SyncClient client(options);
  const std::optional<Error> error = trial.call(client, CallOptions());
  EXPECT_TRUE(proxy.dropped());
  expect_no_harm(trial);
  if (trial.tokens && draw_tokens) {
    EXPECT_FALSE(error.has_value()) << error->to_string();
    EXPECT_EQ(proxy.requests(), 2);
    return;
  }
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->applied, Applied::maybe_applied) << error->to_string();
  EXPECT_EQ(proxy.requests(), 1);
}

TEST_F(DroppedAnswer, UndoesNothingWhenTheProgramWrites) {
  for (const auto& trials : {row_trials(), other_trials()}) {
    for (const Trial& trial : trials) {
      SCOPED_TRACE(trial.name);
      play_program(trial);
      TearDown();
      SetUp();
    }
  }
}

TEST_F(DroppedAnswer, UndoesNothingWhenAClientWithoutTokensWrites) {
  for (const auto& trials : {row_trials(), other_trials()}) {
    for (const Trial& trial : trials) {
      SCOPED_TRACE(trial.name);
      play_client(trial, false);
      TearDown();
      SetUp();
    }
  }
}

TEST_F(DroppedAnswer, UndoesNothingWhenAClientThatDrawsTokensWrites) {
  for (const auto& trials : {row_trials(), other_trials()}) {
    for (const Trial& trial : trials) {
      SCOPED_TRACE(trial.name);
      play_client(trial, true);
      TearDown();
      SetUp();
    }
  }
}

}  // namespace
}  // namespace cellar::cli
