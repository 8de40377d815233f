// A node, and the writes with tokens that a test makes on it: table "t", family f, counters in f:c.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/content_hash.h"
#include "tests/support/test_node.h"

namespace cellar::support {

inline std::string counter_bytes(int64_t value) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) {
    bytes[7 - i] = static_cast<char>(static_cast<uint64_t>(value) >> 8 * i);
  }
  return bytes;
}
inline int64_t counter_value(Bytes bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return static_cast<int64_t>(value);
}

// The description of a write; owns its data.
struct TokenAsk {
  std::string row = "r";
  std::string client = "me";
  std::string token = "token";
  std::optional<int64_t> issued_us;  // absent: now

  // Exactly one of the three.
  std::vector<OwnedMutation> set;                 // MutateRow
  std::vector<OwnedMutation> then_ops, else_ops;  // CheckAndMutateRow
  std::optional<int64_t> by;                      // ReadModifyWriteRow of f:c: increment,
  std::optional<std::string> append;              // or append
};

// A write in progress.
struct TokenWrite {
  engine::ConditionalWrite write;
  TokenAsk ask;
  std::vector<Mutation> then_views, else_views;
  std::vector<ModifyRule> rules;
  bool finished = false;
};

class TokenBed {
 public:
  explicit TokenBed(TestNodeOptions options = {}) : node(std::move(options)) {}
  TokenBed(TestNodeOptions options, std::unique_ptr<MemDisk> disk)
      : node(std::move(options), std::move(disk)) {}

  int64_t now_us() { return node.world().clock().wall_us(); }

  std::unique_ptr<TokenWrite> begin(TokenAsk ask) {
    auto one = std::make_unique<TokenWrite>();
    if (!ask.issued_us) ask.issued_us = now_us();
    one->ask = std::move(ask);
    const TokenAsk& a = one->ask;
    engine::ConditionalWrite& write = one->write;
    for (const auto& op : a.set.empty() ? a.then_ops : a.set) one->then_views.push_back(op.view());
    for (const auto& op : a.else_ops) one->else_views.push_back(op.view());
    if (a.by || a.append) {
      ModifyRule& rule = one->rules.emplace_back();
      rule.kind = a.append ? ModifyRule::Kind::append : ModifyRule::Kind::increment;
      rule.family = "f";
      rule.qualifier = "c";
      rule.by = a.by.value_or(0);
      if (a.append) rule.value = *a.append;
    }
    write.plain = !a.set.empty();
    write.row = a.row;
    write.then_mutations = one->then_views;
    write.else_mutations = one->else_views;
    write.rules = one->rules;
    ContentHash content;
    if (write.plain) {
      content = hash_of_mutations(one->then_views);
    } else if (!one->rules.empty()) {
      content = hash_of_modify(one->rules);
    } else {
      content = hash_of_check({}, one->then_views, one->else_views);
    }
    write.token = {a.client, a.token, *a.issued_us, content};
    write.context = one.get();
    write.done = [](engine::ConditionalWrite& w) {
      static_cast<TokenWrite*>(w.context)->finished = true;
    };
    const engine::TabletDescriptor& tablet = node.table("t")->locate(a.row);
    write.tablet = tablet.id;
    node.node().engine(tablet.shard).submit(write);
    return one;
  }
  void wait(const TokenWrite& one) {
    ASSERT_TRUE(node.world().run_until([&] { return one.finished; })) << "never answered";
  }
  // The status, the branch or the new value, and whether the answer is a repeated one.
  static std::string text(const TokenWrite& one) {
    const engine::ConditionalWrite& write = one.write;
    if (write.error) {
      const bool maybe = write.error->applied == Applied::maybe_applied;
      return std::string(errc_name(write.error->code)) + (maybe ? " maybe" : "");
    }
    std::string text = "OK";
    if (!write.plain && write.rules.empty()) text = write.matched ? "then" : "else";
    for (const Mutation& cell : write.new_cells) {
      const bool number = one.ask.by.has_value();
      text += " " + (number ? std::to_string(counter_value(cell.value))
                            : std::to_string(cell.value.size()) + " bytes");
    }
    if (write.repeated) text += " again";
    if (write.answer_not_kept) text += ", not kept";
    return text;
  }
  std::string ask(TokenAsk ask) {
    const auto one = begin(std::move(ask));
    wait(*one);
    return text(*one);
  }
  // The newest value of f:c; empty if the row has none.
  std::optional<int64_t> count(const std::string& row = "r") {
    const auto cells = node.read_row("t", row);
    EXPECT_TRUE(cells) << cells.error().message;
    if (!cells || cells->empty()) return std::nullopt;
    return counter_value(cells->front().value);
  }
  // Everything on disk, nothing in the cache.
  void cold() {
    ASSERT_TRUE(node.flush("t"));
    ASSERT_TRUE(node.close());
    ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  }

  TestNode node;
};

inline TokenAsk increment(std::string token, int64_t by = 1) {
  TokenAsk ask;
  ask.token = std::move(token);
  ask.by = by;
  return ask;
}
inline TokenAsk put(std::string token, std::string value) {
  TokenAsk ask;
  ask.token = std::move(token);
  ask.set.push_back(set_cell("f:c", kServerStamped, std::move(value)));
  return ask;
}

}  // namespace cellar::support
