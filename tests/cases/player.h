// Plays one case in one mode against a real node, over the wire, through the public client.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "net/client/sync_client.h"
#include "tests/cases/case_file.h"
#include "tests/cases/clock_control.h"
#include "tests/cases/node_process.h"

namespace cellar::cases {

struct Outcome {
  enum class Kind { pass, fail, unsupported } kind = Kind::pass;
  std::string what;  // the step, and its difference or its unknown verb
};

// The error of an answer, if it has one.
template <class T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional<Error>(result.error());
}

// What a step came to: an answer of the node (an error included) or a difference from what was
// expected.
struct Played {
  std::optional<Error> error;
  std::string difference;
};

// Why the step failed; empty if it is as expected. Every error that is not the expected one fails,
// UNIMPLEMENTED too.
std::string judge(const Step& step, const Played& played);

class Player {
 public:
  // `program` is a node built with clock control; `scratch` is an existing directory for the
  // player's exclusive use.
  Player(std::string program, std::string scratch);

  Outcome play(const Case& c, Mode mode);

 private:
  using Answer = Result<Played>;  // an error here is a fault of the runner or of the case

  Outcome play_steps(const Case& c, Mode mode);
  Result<void> start_node();
  Result<void> after_step(const Step& step, Mode mode);
  Answer play_step(const Step& step);
  Answer play_verb(const Step& step);
  Answer play_table(const Step& step);
  Answer play_write(const Step& step);
  Answer play_conditional(const Step& step);
  Answer play_clock(const Step& step);
  Answer mutate_rows(const Step& step);
  Answer drop_rows(const json::object& object);
  Answer read(const Step& step);
  Answer read_once(const Step& step);
  Answer read_modify_write(const Step& step);
  Answer check_and_mutate(const Step& step);
  Answer play_index(const Step& step);
  Answer until_ready(const std::string& table, const std::string& name);
  Answer read_index(const Step& step);
  Answer sample_keys(const Step& step);
  Answer preview(const Step& step);
  Result<std::optional<client::Token>> token_of(const json::object& object);
  client::SyncClient& client();

  const std::string program_;
  const std::string scratch_;
  std::unique_ptr<NodeProcess> node_;
  std::unique_ptr<client::SyncClient> client_;
  std::set<std::string> tables_;
  ClockReading clock_;
  std::map<std::string, client::Token> tokens_;
  uint64_t played_ = 0;
};

// The differences between cells as read and `expect` (README.md, CELL); empty when there are none.
struct ReadCell {
  std::string row, family, qualifier, value, labels;
  int64_t timestamp_us = 0;
};
std::string compare_cells(const std::vector<ReadCell>& cells, const json::value& expect);
// Appends the cells of a row as read.
void collect(std::vector<ReadCell>& out, Bytes row, std::span<const client::Cell> cells);

}  // namespace cellar::cases
