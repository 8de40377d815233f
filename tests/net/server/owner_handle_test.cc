// Which table a request is about where other nodes own tables: that of its handle.
#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

using wire::fb::Op;

class OwnerHandle : public testing::Test {
 protected:
  OwnerHandle() {
    CHECK(peer.code_of(Op::CreateTable, wire::create_table_body("own", {"f"})) == Errc::ok);
  }
  static ServerOptions options() {
    ServerOptions options;
    options.owners = *TableOwners::parse("foreign=other:7420");
    options.advertise = "node:7420";
    return options;
  }
  // Of a write with the handle `to` and a body that names `table`.
  Errc code_of(const wire::BindShape& to, const std::string& table) {
    peer.send(wire::bind_frame(3, to) +
              wire::request_frame(Op::MutateRow, ++id,
                                  wire::set_body(table, "r", "f", "q", "v", 1000),
                                  wire::FrameKind::request, 0, 3));
    auto answer = peer.answer(id);
    return answer ? answer->code() : Errc::cancelled;
  }

  ServerBed bed{1, options()};
  Peer peer{bed};
  uint64_t id = 900'000;
};

TEST_F(OwnerHandle, TheBodyDecidesWithoutAHandle) {
  EXPECT_EQ(peer.code_of(Op::MutateRow, wire::set_body("own", "r", "f", "q", "v", 1000)), Errc::ok);
  EXPECT_EQ(peer.code_of(Op::MutateRow, wire::set_body("foreign", "r", "f", "q", "v", 1000)),
            Errc::aborted);
}

TEST_F(OwnerHandle, AHandleOfAnOwnTableWorksWhateverTheBodyNames) {
  EXPECT_EQ(code_of({.table = "own"}, "own"), Errc::ok);
  EXPECT_EQ(code_of({.table = "own"}, "foreign"), Errc::ok);
}

TEST_F(OwnerHandle, AHandleOfAForeignTableIsRefusedWhateverTheBodyNames) {
  EXPECT_EQ(code_of({.table = "foreign"}, ""), Errc::aborted);
  EXPECT_EQ(code_of({.table = "foreign"}, "own"), Errc::aborted);
}

// Numbers are of this node.
TEST_F(OwnerHandle, AHandleOfANumberIsOfAnOwnTable) {
  auto described =
      peer.ask(Op::DescribeTable, wire::table_body("own", wire::fb::CreateDescribeTableRequest));
  const uint64_t table = described->root<wire::fb::TableDescription>()->table_id();
  const wire::BindShape to{.table_id = table, .instance = ServerBed::kInstance};
  EXPECT_EQ(code_of(to, "own"), Errc::ok);
  EXPECT_EQ(code_of(to, "foreign"), Errc::ok);
}

}  // namespace
}  // namespace cellar::server
