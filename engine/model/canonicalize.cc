// Resolves the order inside one mutation (see mutation.h).
//
// Only operations after the last row delete matter. They are sorted by family and column, so that
// each column is resolved separately: of one timestamp the last set remains, unless a later column
// delete covers its timestamp. The deletes of a column become the union of their ranges, which is
// exact because they have one stamp. n operations cost O(n log n) in any mixture: a column is swept
// by timestamp with a heap of the open deletes.
#include <algorithm>
#include <queue>
#include <tuple>

#include "engine/model/mutation.h"

namespace cellar {
namespace {

using MutationKind = Mutation::Kind;

// Up to this many sets are compared pairwise, which is faster than sorting and needs no memory.
constexpr size_t kPairwise = 8;

class Canonicalizer {
 public:
  Canonicalizer(std::span<const Mutation> ops, int64_t now_us, int64_t server_us,
                std::vector<Mutation>& out)
      : ops_(ops), now_us_(now_us), server_us_(server_us), out_(out) {}

  void run() {
    size_t first = 0;
    for (size_t i = ops_.size(); i > 0; --i) {
      if (ops_[i - 1].kind != MutationKind::delete_from_row) continue;
      out_.push_back(ops_[i - 1]);
      first = i;
      break;
    }
    ops_ = ops_.subspan(first);
    if (copy_when_plain()) return;

    order_.resize(ops_.size());
    for (uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::sort(order_.begin(), order_.end(), [this](uint32_t a, uint32_t b) {
      return std::tie(ops_[a].family, ops_[a].qualifier, a) <
             std::tie(ops_[b].family, ops_[b].qualifier, b);
    });
    for (size_t at = 0; at < order_.size();) at = resolve_family(at);
    out_.insert(out_.end(), sets_.begin(), sets_.end());
  }

 private:
  static bool same_column(const Mutation& a, const Mutation& b) {
    return a.qualifier == b.qualifier && a.family == b.family;
  }
  int64_t stamp_of(const Mutation& op) const {
    return op.timestamp_us == kServerStamped ? server_us_ : op.timestamp_us;
  }
  int64_t expiry_of(int64_t ttl_us) const {
    return ttl_us > kLastExpiryUs - now_us_ ? kLastExpiryUs : now_us_ + ttl_us;
  }
  void put_set(const Mutation& op, std::vector<Mutation>& to) const {
    to.push_back(op);
    to.back().timestamp_us = stamp_of(op);
    if (op.ttl_us != kNoTtl) to.back().expire_at_us = expiry_of(op.ttl_us);
  }

  bool distinct_cells() const {
    const bool sorted =
        std::adjacent_find(ops_.begin(), ops_.end(), [](const Mutation& a, const Mutation& b) {
          return std::tie(a.family, a.qualifier) >= std::tie(b.family, b.qualifier);
        }) == ops_.end();
    if (sorted) return true;
    if (ops_.size() > kPairwise) return false;
    for (size_t i = 0; i < ops_.size(); ++i)
      for (size_t j = i + 1; j < ops_.size(); ++j)
        if (same_column(ops_[i], ops_[j]) && stamp_of(ops_[i]) == stamp_of(ops_[j])) return false;
    return true;
  }

  // One operation, or only sets of different cells: nothing to resolve.
  bool copy_when_plain() {
    if (ops_.size() != 1) {
      for (const Mutation& op : ops_)
        if (op.kind != MutationKind::set_cell) return false;
      if (!distinct_cells()) return false;
    }
    for (const Mutation& op : ops_) {
      if (op.kind == MutationKind::set_cell)
        put_set(op, out_);
      else
        out_.push_back(op);
    }
    return true;
  }

  // Resolves the family that starts at order_[at]; returns the start of the next one.
  size_t resolve_family(size_t at) {
    const Bytes family = ops_[order_[at]].family;
    size_t end = at;
    int64_t deleted_at = -1;  // the last delete of the whole family
    for (; end < order_.size() && ops_[order_[end]].family == family; ++end)
      if (ops_[order_[end]].kind == MutationKind::delete_from_family)
        deleted_at = std::max<int64_t>(deleted_at, order_[end]);
    if (deleted_at >= 0) out_.push_back(ops_[static_cast<size_t>(deleted_at)]);

    while (at < end) {
      const Bytes qualifier = ops_[order_[at]].qualifier;
      column_sets_.clear();
      column_deletes_.clear();
      for (; at < end && ops_[order_[at]].qualifier == qualifier; ++at) {
        const uint32_t i = order_[at];
        if (i <= deleted_at) continue;
        if (ops_[i].kind == MutationKind::set_cell) column_sets_.push_back(i);
        if (ops_[i].kind == MutationKind::delete_from_column) column_deletes_.push_back(i);
      }
      resolve_column();
    }
    return end;
  }

  void resolve_column() {
    std::sort(column_deletes_.begin(), column_deletes_.end(), [this](uint32_t a, uint32_t b) {
      return std::tie(ops_[a].start_us, a) < std::tie(ops_[b].start_us, b);
    });
    std::sort(column_sets_.begin(), column_sets_.end(), [this](uint32_t a, uint32_t b) {
      const int64_t ta = stamp_of(ops_[a]);
      const int64_t tb = stamp_of(ops_[b]);
      return ta != tb ? ta < tb : a > b;
    });
    std::priority_queue<uint32_t> open;  // deletes that start at or before the swept timestamp
    size_t next_delete = 0;
    for (size_t k = 0; k < column_sets_.size(); ++k) {
      const uint32_t i = column_sets_[k];
      const int64_t t = stamp_of(ops_[i]);
      if (k > 0 && stamp_of(ops_[column_sets_[k - 1]]) == t) continue;  // set again later
      while (next_delete < column_deletes_.size() &&
             ops_[column_deletes_[next_delete]].start_us <= t)
        open.push(column_deletes_[next_delete++]);
      while (!open.empty() && ends_at_or_before(ops_[open.top()], t)) open.pop();
      const bool deleted = !open.empty() && open.top() > i;
      if (!deleted) put_set(ops_[i], sets_);
    }
    emit_union();
  }

  static bool ends_at_or_before(const Mutation& op, int64_t t) {
    return op.end_us != kMaxTimestampUs && op.end_us <= t;
  }

  void emit_union() {
    for (size_t k = 0; k < column_deletes_.size();) {
      Mutation joined = ops_[column_deletes_[k++]];
      for (; k < column_deletes_.size(); ++k) {
        const Mutation& next = ops_[column_deletes_[k]];
        if (next.start_us > joined.end_us) break;
        joined.end_us = std::max(joined.end_us, next.end_us);
      }
      out_.push_back(joined);
    }
  }

  std::span<const Mutation> ops_;
  int64_t now_us_;
  int64_t server_us_;
  std::vector<Mutation>& out_;
  std::vector<Mutation> sets_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> column_sets_;
  std::vector<uint32_t> column_deletes_;
};

}  // namespace

void canonicalize(const RowMutation& mutation, const TableSchema& schema, int64_t now_us,
                  std::vector<Mutation>& out) {
  out.clear();
  const int64_t server_us = now_us - now_us % granule_us(schema.granularity);
  Canonicalizer(mutation.mutations, now_us, server_us, out).run();
}

}  // namespace cellar
