// A retention rule as data (SEMANTICS 3): a tree of nodes in pre-order, as on the wire and on disk.
// engine/retention evaluates it.
//
//   union(max_age 2 d, max_versions 2)  ->  {union_of, 2}, {max_age, value 172'800'000'000},
//                                           {max_versions, value 2}
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/base/bytes.h"
#include "io/base/coding.h"
#include "io/base/result.h"

namespace cellar {

inline constexpr size_t kMaxRuleDepth = 16;     // nesting of union and intersection
inline constexpr int64_t kMinRuleAgeUs = 1000;  // 1 ms
inline constexpr size_t kMaxRuleNodes = 4096;

struct RuleNode {
  enum class Kind : uint8_t {  // on disk and on the wire
    max_versions = 1,
    max_age = 2,
    union_of = 3,
    intersection_of = 4
  };
  Kind kind = Kind::max_versions;
  uint32_t children = 0;  // union_of and intersection_of: the number of subtrees that follow
  int64_t value = 0;      // versions, or microseconds

  bool operator==(const RuleNode&) const = default;
};

struct RetentionRule {
  std::vector<RuleNode> nodes;  // none: keep everything

  bool keeps_everything() const { return nodes.empty(); }
  bool has(RuleNode::Kind kind) const;
  bool operator==(const RetentionRule&) const = default;

  static RetentionRule max_versions(int64_t n) { return {{{RuleNode::Kind::max_versions, 0, n}}}; }
  static RetentionRule max_age_us(int64_t us) { return {{{RuleNode::Kind::max_age, 0, us}}}; }
  static RetentionRule union_of(const std::vector<RetentionRule>& parts);
  static RetentionRule intersection_of(const std::vector<RetentionRule>& parts);
};

// INVALID_ARGUMENT with the node: a count below 1, an age below 1 ms, an empty union or
// intersection, a tree that is too deep or too large, inconsistent nodes.
Result<void> validate_rule(const RetentionRule& rule);

// For the manifest; see FORMATS.md: node count, then kind u8, children varint, value varint.
void put_rule(std::string& out, const RetentionRule& rule);
RetentionRule read_rule(Reader& in);  // check in.ok(); the caller validates

// "maxage=2d or (maxversions=3 and maxage=1h)", "keep everything": for messages and logs.
std::string describe_rule(const RetentionRule& rule);

}  // namespace cellar
