// A node, and DropRowRanges with tokens as a server passes them to the engine: table "t", family f.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/content_hash.h"
#include "tests/support/test_node.h"

namespace cellar::support {

struct DropAsk {
  std::string start = "a";
  std::string end = "z";
  std::string token = "token";
  std::string client = "me";
  std::optional<int64_t> issued_us;  // absent: now
};

// The part of a drop in one tablet, in progress.
struct DropPart {
  engine::Write write;
  DropAsk ask;
  WriteToken token;
  bool finished = false;
};

inline std::unique_ptr<DropPart> begin_drop(TestNode& node, const engine::TabletDescriptor& tablet,
                                            DropAsk ask) {
  auto part = std::make_unique<DropPart>();
  if (!ask.issued_us) ask.issued_us = node.world().clock().wall_us();
  part->ask = std::move(ask);
  engine::Write& write = part->write;
  write.range = RangeDelete{part->ask.start, part->ask.end};
  part->token = {part->ask.client, part->ask.token, *part->ask.issued_us,
                 hash_of_range(*write.range)};
  write.range_token = &part->token;
  write.tablet = tablet.id;
  write.context = part.get();
  write.done = [](engine::Write& w) { static_cast<DropPart*>(w.context)->finished = true; };
  node.node().engine(tablet.shard).submit(write);
  return part;
}

class RangeTokenBed {
 public:
  explicit RangeTokenBed(TestNodeOptions options = {}) : node(std::move(options)) {}
  RangeTokenBed(TestNodeOptions options, std::unique_ptr<MemDisk> disk)
      : node(std::move(options), std::move(disk)) {}

  int64_t now_us() { return node.world().clock().wall_us(); }
  std::vector<engine::TabletDescriptor> tablets() { return node.table("t")->tablets; }
  static bool touches(const engine::TabletDescriptor& tablet, const DropAsk& ask) {
    const bool before = !tablet.end.empty() && tablet.end <= ask.start;
    const bool after = !ask.end.empty() && tablet.start >= ask.end;
    return !before && !after;
  }

  std::unique_ptr<DropPart> begin(const engine::TabletDescriptor& tablet, DropAsk ask) {
    return begin_drop(node, tablet, std::move(ask));
  }
  std::string wait(const DropPart& part) {
    EXPECT_TRUE(node.world().run_until([&] { return part.finished; })) << "never answered";
    if (!part.write.error) return "OK";
    const bool maybe = part.write.error->applied == Applied::maybe_applied;
    return std::string(errc_name(part.write.error->code)) + (maybe ? " maybe" : "");
  }
  std::string drop_in(const engine::TabletDescriptor& tablet, const DropAsk& ask) {
    const auto part = begin(tablet, ask);
    return wait(*part);
  }
  // First in the first tablet, then in those of the others that `takes` accepts.
  template <class Takes>
  std::string drop_where(DropAsk ask, Takes takes) {
    if (!ask.issued_us) ask.issued_us = now_us();
    const std::vector<engine::TabletDescriptor> all = tablets();
    std::string answer = drop_in(all[0], ask);
    for (size_t i = 1; i < all.size() && answer == "OK"; ++i) {
      if (touches(all[i], ask) && takes(i)) answer = drop_in(all[i], ask);
    }
    return answer;
  }
  std::string drop(DropAsk ask) {
    return drop_where(std::move(ask), [](size_t) { return true; });
  }

  void put(const std::string& row, const std::string& value) {
    ASSERT_TRUE(node.set("t", row, "f:q", 1000, value));
  }
  // "row=value " of every row.
  std::string rows() {
    std::string text;
    for (const OwnedCell& cell : node.cells("t")) text += cell.row + "=" + cell.value + " ";
    return text;
  }
  void reopen() { ASSERT_TRUE(node.reopen()) << node.open_error()->to_string(); }
  // Everything on disk, nothing in memory.
  void cold() {
    ASSERT_TRUE(node.close());
    reopen();
  }

  TestNode node;
};

}  // namespace cellar::support
