// Crash images and clones of a MemDisk.
#include <algorithm>
#include <map>

#include "io/sim/mem_disk.h"

namespace cellar {
namespace {

constexpr uint64_t kUnit = SparseBytes::kUnitBytes;

uint64_t unit_count(uint64_t offset, uint64_t size) {
  return size == 0 ? 0 : (offset + size - 1) / kUnit - offset / kUnit + 1;
}

// Bytes of a write that lie in its first `units` units.
uint64_t prefix_bytes(uint64_t offset, uint64_t size, uint64_t units) {
  if (units == 0) return 0;
  return std::min(size, (offset / kUnit + units) * kUnit - offset);
}

}  // namespace

// Rebuilds a tree of nodes in another disk and decides for each unsynced item whether it is kept.
class MemDisk::Copier {
 public:
  Copier(const MemDisk& from, CrashPolicy policy, Random& random)
      : from_(from), policy_(policy), random_(random) {}

  // The image after the crash: durable names plus the kept changes.
  Node image_of_tree() {
    for (const DirChange& change : from_.pending_) {
      if (keep()) kept_changes_.push_back(&change);
    }
    return image_dir(*from_.root_, names_after());
  }

 private:
  using NamesOfDirs = std::map<const MemNode*, MemNode::Entries>;

  bool keep() {
    return policy_ != CrashPolicy::none && (policy_ != CrashPolicy::random_subset || coin());
  }
  bool coin() { return random_.one_in(2); }

  static MemNode::Entries& names_of(NamesOfDirs& names, const Node& dir) {
    return names.try_emplace(dir.get(), dir->durable_entries).first->second;
  }

  NamesOfDirs names_after() {
    NamesOfDirs names;
    for (const DirChange* change : kept_changes_) {
      MemNode::Entries& entries = names_of(names, change->dir);
      switch (change->kind) {
        case DirChange::Kind::create:
          entries[change->name] = change->target;
          break;
        case DirChange::Kind::remove:
          entries.erase(change->name);
          break;
        case DirChange::Kind::rename:
          std::erase_if(entries, [&](const auto& entry) { return entry.second == change->target; });
          names_of(names, change->to_dir)[change->to_name] = change->target;
          break;
      }
    }
    return names;
  }

  Node image_dir(const MemNode& dir, const NamesOfDirs& names) {
    const auto changed = names.find(&dir);
    const MemNode::Entries& entries =
        changed == names.end() ? dir.durable_entries : changed->second;
    Node image = std::make_shared<MemNode>(true);
    for (const auto& [name, node] : entries) {
      image->entries[name] = node->is_dir ? image_dir(*node, names) : image_file(*node);
    }
    image->durable_entries = image->entries;
    return image;
  }

  Node image_file(const MemNode& node) {
    Node image = std::make_shared<MemNode>(false);
    image->durable = node.durable;
    kept_end_ = 0;
    for (const auto& [chunk, units] : node.dirty) keep_units(node, chunk, units, *image);
    uint64_t written_size = node.size;
    if (policy_ == CrashPolicy::torn_last_write) tear_last_write(node, *image, written_size);
    for (const InFlight& entry : from_.in_flight_) {
      if (entry.node.get() != &node || entry.op->kind != IoOp::Kind::write) continue;
      keep_in_flight(*entry.op, *image, written_size);
    }
    image->size = image->durable_size = size_after(node, written_size);
    // Units kept past the end have no effect: a later extension reads zeros there.
    const uint64_t reach = std::max({node.size, node.durable_size, kept_end_});
    image->durable.zero(image->size, reach + kUnit);
    image->now = image->durable;
    return image;
  }

  void keep_units(const MemNode& node, uint64_t chunk, uint8_t units, MemNode& image) {
    uint8_t kept = 0;
    for (size_t unit = 0; unit < SparseBytes::kUnitsPerChunk; ++unit) {
      if ((units >> unit & 1) == 0 || !keep()) continue;
      kept |= static_cast<uint8_t>(1u << unit);
      const uint64_t end = chunk * SparseBytes::kChunkBytes + (unit + 1) * kUnit;
      kept_end_ = std::max(kept_end_, std::min(end, node.size));
    }
    if (kept != 0) image.durable.copy_units(node.now, chunk, kept);
  }

  void keep_in_flight(const IoOp& op, MemNode& image, uint64_t& written_size) {
    const uint64_t units = unit_count(op.offset, op.size);
    uint64_t kept_units = units;
    if (policy_ == CrashPolicy::none || units == 0) return;
    if (policy_ == CrashPolicy::torn_last_write) kept_units = random_.below(units);
    const char* data = reinterpret_cast<const char*>(op.data);
    for (uint64_t unit = 0; unit < kept_units; ++unit) {
      if (!keep()) continue;
      const uint64_t begin = prefix_bytes(op.offset, op.size, unit);
      const uint64_t end = prefix_bytes(op.offset, op.size, unit + 1);
      image.durable.write(op.offset + begin, data + begin, end - begin);
      kept_end_ = std::max(kept_end_, op.offset + end);
      written_size = std::max(written_size, op.offset + end);
    }
  }

  // Without a write in flight the last completed write is torn, unless it was synced since.
  void tear_last_write(const MemNode& node, MemNode& image, uint64_t& written_size) {
    const bool any_in_flight =
        std::any_of(from_.in_flight_.begin(), from_.in_flight_.end(),
                    [](const InFlight& e) { return e.op->kind == IoOp::Kind::write; });
    const LastWrite& last = from_.last_write_;
    if (any_in_flight || last.node.lock().get() != &node || last.size == 0) return;
    const uint64_t units = unit_count(last.offset, last.size);
    const uint64_t kept_units = random_.below(units);
    bool torn = false;
    for (uint64_t i = kept_units; i < units; ++i) {
      const uint64_t unit = last.offset / kUnit + i;
      const uint64_t chunk = unit / SparseBytes::kUnitsPerChunk;
      const auto bit = static_cast<uint8_t>(1u << unit % SparseBytes::kUnitsPerChunk);
      const auto dirty = node.dirty.find(chunk);
      if (dirty == node.dirty.end() || (dirty->second & bit) == 0) continue;
      image.durable.copy_units(node.durable, chunk, bit);
      torn = true;
    }
    const uint64_t kept_end = last.offset + prefix_bytes(last.offset, last.size, kept_units);
    if (torn && last.offset + last.size == node.size) {
      written_size = std::max(node.durable_size, kept_end);
    }
  }

  uint64_t size_after(const MemNode& node, uint64_t written_size) {
    switch (policy_) {
      case CrashPolicy::none:
        return node.durable_size;
      case CrashPolicy::all:
      case CrashPolicy::torn_last_write:
        return written_size;
      case CrashPolicy::random_subset:
        break;
    }
    // A unit that reached the disk beyond the old end implies the larger size.
    if (coin()) return written_size;
    return std::max(node.durable_size, kept_end_);
  }

  const MemDisk& from_;
  const CrashPolicy policy_;
  Random& random_;
  std::vector<const DirChange*> kept_changes_;
  uint64_t kept_end_ = 0;  // of the current file: where the last kept unit ends
};

std::unique_ptr<MemDisk> MemDisk::crash_image(CrashPolicy policy, Random& random) const {
  const std::lock_guard guard(mutex_);
  auto image = std::make_unique<MemDisk>();
  image->root_ = Copier(*this, policy, random).image_of_tree();
  image->bytes_limit_ = bytes_limit_;
  return image;
}

namespace {

using NodeMap = std::map<const MemNode*, std::shared_ptr<MemNode>>;

std::shared_ptr<MemNode> copy_node(const std::shared_ptr<MemNode>& node, NodeMap& copies) {
  if (node == nullptr) return nullptr;
  auto& copy = copies[node.get()];
  if (copy != nullptr) return copy;
  auto fresh = std::make_shared<MemNode>(node->is_dir);
  copy = fresh;
  fresh->size = node->size;
  fresh->durable_size = node->durable_size;
  fresh->now = node->now;
  fresh->durable = node->durable;
  fresh->dirty = node->dirty;
  for (const auto& [name, child] : node->entries) fresh->entries[name] = copy_node(child, copies);
  for (const auto& [name, child] : node->durable_entries) {
    fresh->durable_entries[name] = copy_node(child, copies);
  }
  return fresh;
}

}  // namespace

std::unique_ptr<MemDisk> MemDisk::clone() const {
  const std::lock_guard guard(mutex_);
  NodeMap copies;
  auto twin = std::make_unique<MemDisk>();
  twin->root_ = copy_node(root_, copies);
  for (const DirChange& change : pending_) {
    twin->pending_.push_back({change.kind, copy_node(change.dir, copies), change.name,
                              copy_node(change.target, copies), copy_node(change.to_dir, copies),
                              change.to_name});
  }
  const auto last = last_write_.node.lock();
  twin->last_write_ = {copy_node(last, copies), last_write_.offset, last_write_.size};
  twin->bytes_limit_ = bytes_limit_;
  return twin;
}

}  // namespace cellar
