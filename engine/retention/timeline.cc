#include "engine/retention/timeline.h"

#include <algorithm>

namespace cellar::engine {

void Timeline::clear() {
  nodes_.clear();
  root_ = kNone;
}

uint32_t Timeline::draw() {  // xorshift: affects the balance only
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return random_;
}

void Timeline::raise(Index node) {
  if (node == kNone) return;
  ++nodes_[node].count;
  ++nodes_[node].most;
  ++nodes_[node].added;
}

void Timeline::push_down(Index node) {
  Node& n = nodes_[node];
  if (n.added == 0) return;
  for (const Index child : {n.left, n.right}) {
    if (child == kNone) continue;
    nodes_[child].count += n.added;
    nodes_[child].most += n.added;
    nodes_[child].added += n.added;
  }
  n.added = 0;
}

void Timeline::pull_up(Index node) {
  Node& n = nodes_[node];
  n.most = n.count;
  if (n.left != kNone) n.most = std::max(n.most, nodes_[n.left].most);
  if (n.right != kNone) n.most = std::max(n.most, nodes_[n.right].most);
}

void Timeline::split(Index node, Instant at, Index& left, Index& right) {
  if (node == kNone) {
    left = right = kNone;
    return;
  }
  ++steps_;
  push_down(node);
  Index part = kNone;
  if (nodes_[node].at < at) {
    split(nodes_[node].right, at, part, right);
    nodes_[node].right = part;
    left = node;
  } else {
    split(nodes_[node].left, at, left, part);
    nodes_[node].left = part;
    right = node;
  }
  pull_up(node);
}

Timeline::Index Timeline::join(Index left, Index right) {
  if (left == kNone) return right;
  if (right == kNone) return left;
  ++steps_;
  if (nodes_[left].priority < nodes_[right].priority) {
    push_down(right);
    const Index joined = join(left, nodes_[right].left);
    nodes_[right].left = joined;
    pull_up(right);
    return right;
  }
  push_down(left);
  const Index joined = join(nodes_[left].right, right);
  nodes_[left].right = joined;
  pull_up(left);
  return left;
}

uint64_t Timeline::count_at(Instant instant) const {
  uint64_t found = 0;
  uint64_t added = 0;
  for (Index node = root_; node != kNone;) {
    ++steps_;
    const Node& n = nodes_[node];
    if (n.at <= instant) found = n.count + added;
    added += n.added;
    node = n.at <= instant ? n.right : n.left;
  }
  return found;
}

// Makes `at` a breakpoint.
void Timeline::ensure(Instant at) {
  for (Index node = root_; node != kNone;) {
    ++steps_;
    const Node& n = nodes_[node];
    if (n.at == at) return;
    node = n.at < at ? n.right : n.left;
  }
  const uint64_t count = count_at(at);
  const auto fresh = static_cast<Index>(nodes_.size());
  nodes_.push_back({at, count, count, 0, draw()});
  Index left = kNone;
  Index right = kNone;
  split(root_, at, left, right);
  root_ = join(join(left, fresh), right);
}

void Timeline::add(Instant from, Instant to) {
  if (from >= to) return;
  ensure(from);
  if (to != kNever) ensure(to);
  Index before = kNone;
  Index middle = kNone;
  Index after = kNone;
  split(root_, from, before, middle);
  if (to != kNever) split(middle, to, middle, after);
  raise(middle);
  root_ = join(join(before, middle), after);
}

Instant Timeline::find(Index node, uint64_t rank, Instant after, uint64_t added) const {
  if (node == kNone) return kNever;
  ++steps_;
  if (nodes_[node].most + added < rank) return kNever;
  const Node& n = nodes_[node];
  if (n.at > after) {
    const Instant earlier = find(n.left, rank, after, added + n.added);
    if (earlier != kNever) return earlier;
    if (n.count + added >= rank) return n.at;
  }
  return find(n.right, rank, after, added + n.added);
}

Instant Timeline::first_with(uint64_t rank, Instant from, Instant to) const {
  if (from >= to || rank == kNever) return kNever;
  if (count_at(from) >= rank) return from;
  const Instant found = find(root_, rank, from, 0);
  return found < to ? found : kNever;
}

}  // namespace cellar::engine
