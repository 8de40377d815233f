#include "engine/model/content_hash.h"

#include <xxhash.h>

#include <bit>
#include <memory>

namespace cellar {
namespace {

// Hashed first. Never renumber.
enum class Content : uint64_t { mutations = 1, check = 2, modify = 3, range = 4 };

// Every part is preceded by its size or count, so that no two contents are hashed as the same
// bytes.
class Hasher {
 public:
  explicit Hasher(Content kind) : state_(XXH3_createState(), &XXH3_freeState) {
    XXH3_128bits_reset(state_.get());
    add(static_cast<uint64_t>(kind));
  }

  void add(uint64_t number) { XXH3_128bits_update(state_.get(), &number, sizeof number); }
  void add(Bytes bytes) {
    add(uint64_t{bytes.size()});
    if (!bytes.empty()) XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
  void add(int64_t number) { add(static_cast<uint64_t>(number)); }
  void add(const Mutation& op) {
    add(static_cast<uint64_t>(op.kind));
    add(op.family);
    add(op.qualifier);
    add(op.value);
    add(op.timestamp_us);
    add(op.expire_at_us);
    add(op.ttl_us);
    add(op.start_us);
    add(op.end_us);
  }
  void add(const ModifyRule& rule) {
    add(static_cast<uint64_t>(rule.kind));
    add(rule.family);
    add(rule.qualifier);
    add(rule.value);
    add(rule.by);
  }
  void add(const FilterNode& node) {
    add(static_cast<uint64_t>(node.kind));
    const bool flags[] = {node.has_start,  node.start_open, node.has_end,
                          node.end_closed, node.has_then,   node.has_else};
    uint64_t bits = 0;
    for (const bool flag : flags) bits = bits << 1 | (flag ? 1 : 0);
    add(bits);
    add(uint64_t{node.child_count});
    add(node.start);
    add(node.end);
    add(std::bit_cast<uint64_t>(node.sample));
    add(Bytes(node.text));
    add(Bytes(node.end_text));
    add(Bytes(node.family));
  }
  template <class T>
  void add_all(std::span<const T> parts) {
    add(uint64_t{parts.size()});
    for (const T& part : parts) add(part);
  }

  ContentHash finish() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return {hash.low64, hash.high64};
  }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

ContentHash hash_of_mutations(std::span<const Mutation> mutations) {
  Hasher hasher(Content::mutations);
  hasher.add_all(mutations);
  return hasher.finish();
}

ContentHash hash_of_check(const FilterSpec& filter, std::span<const Mutation> then_mutations,
                          std::span<const Mutation> else_mutations) {
  Hasher hasher(Content::check);
  hasher.add_all(std::span<const FilterNode>(filter.nodes));
  hasher.add_all(then_mutations);
  hasher.add_all(else_mutations);
  return hasher.finish();
}

ContentHash hash_of_modify(std::span<const ModifyRule> rules) {
  Hasher hasher(Content::modify);
  hasher.add_all(rules);
  return hasher.finish();
}

ContentHash hash_of_range(const RangeDelete& range) {
  Hasher hasher(Content::range);
  hasher.add(range.start);
  hasher.add(range.end);
  return hasher.finish();
}

}  // namespace cellar
