// Operator: the client that changes tables, tablets and rules while the others work.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tests/simulation/stage.h"

namespace cellar::simulation {

// A rule of the family's kind, by its number in the plan. 0: none.
std::optional<client::RetentionRule> rule_of(FamilyKind kind, int64_t rule);
int64_t draw_rule(const FamilyPlan& family, Random& random);

class Operator {
 public:
  explicit Operator(Stage& stage);

  // Creates the tables; the node must answer.
  Async<void> create_tables();
  Async<void> beat(uint32_t number);
  // Restores tables and families that are dropped, so that everything can be read.
  void close() { client_->close(); }

 private:
  Async<void> change(Random& random);
  Async<void> reshape(std::string table, Random& random);
  Async<void> change_rule(std::string table, Random& random);
  Async<void> undo_rule(std::string table, Random& random);
  Async<void> drop_or_restore(std::string table, Random& random);
  Async<void> change_family(std::string table, Random& random);
  Async<void> tidy(std::string table, Random& random);

  client::FamilySpec spec_of(const FamilyPlan& family) const;
  // Records a change by its outcome; `expected`: the refusal that the code means, if any.
  void finish(const std::string& table, RowOp op, const Error* error, Errc code = Errc::ok,
              Refused expected = Refused::no);
  void note(std::string_view what, const Error* error);

  Stage& stage_;
  std::unique_ptr<client::Client> client_;
};

}  // namespace cellar::simulation
