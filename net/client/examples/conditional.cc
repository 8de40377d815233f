// Writes that depend on existing data: a lock taken by one of many clients, and a counter. Both run
// atomically on the node.
//
//   cellar_example_conditional 127.0.0.1:7420
//
// Exit code 77: the node does not have these operations yet.
#include <cstdio>
#include <string>

#include "net/client/sync_client.h"

using namespace cellar;

namespace {

constexpr const char* kTable = "example_conditional";

// Takes the lock if it is free; returns whether it was taken.
Result<bool> take_lock(client::SyncClient& cellar, std::string_view who) {
  client::CheckAndMutate check;
  check.row = "lock/printer";
  // Without a filter: the condition is that the row exists.
  check.else_mutation.set("f", "owner", who);
  // The answer may be lost in transit; a token makes the repetition safe, and the client generates
  // it.
  client::CallOptions options;
  options.draw_tokens = true;
  TRY(const client::CheckAndMutateReply done, cellar.check_and_mutate(kTable, check, options));
  return !done.matched;
}

Result<void> run(client::SyncClient& cellar) {
  (void)cellar.drop_table(kTable);
  client::TableSpec spec;
  spec.name = kTable;
  spec.families.emplace_back().name = "f";
  TRY_VOID(cellar.create_table(spec));

  TRY(const bool first, take_lock(cellar, "alice"));
  TRY(const bool second, take_lock(cellar, "bob"));
  std::printf("alice %s the lock, bob %s it\n", first ? "has" : "lacks", second ? "has" : "lacks");
  if (!first || second) return fail(Errc::internal, "two have the lock, or none");

  client::ReadModifyWrite visit;
  visit.row = "page/index";
  visit.rules.push_back({"f", "visits", std::nullopt, 1});  // adds 1; an absent value counts as 0
  visit.rules.push_back({"f", "log", std::string("visit;"), 0});  // appends
  client::Row row;
  for (int i = 0; i < 3; ++i) {
    TRY(row, cellar.read_modify_write(kTable, visit));
  }
  const client::Cell* visits = row.find("f", "visits");
  const client::Cell* log = row.find("f", "log");
  if (!visits || visits->value != Bytes("\0\0\0\0\0\0\0\3", 8)) {
    return fail(Errc::internal, "the counter is not 3");
  }
  if (!log || log->value != "visit;visit;visit;") return fail(Errc::internal, "the log differs");
  std::printf("3 visits: %s\n", std::string(log->value).c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  client::ClientOptions options;
  if (argc > 1) options.address = argv[1];
  client::SyncClient cellar(options);
  const auto result = run(cellar);
  if (!result) std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  if (!result && result.error().code == Errc::unimplemented) return 77;
  return result ? 0 : 1;
}
