#include "io/sim/mem_disk.h"

#include <algorithm>
#include <cerrno>
#include <functional>

#include "io/base/aligned_buffer.h"
#include "io/base/check.h"
#include "io/disk/path.h"

namespace cellar {
namespace {

std::unexpected<Error> refuse(int err, const char* verb, std::string_view path) {
  return std::unexpected(os_error(err, fmt::format("{} of '{}'", verb, path)));
}

// Calls visit(path, node) for every file below `dir`, in name order.
template <class Visit>
void for_each_file(const MemNode& dir, const std::string& prefix, const Visit& visit) {
  for (const auto& [name, node] : dir.entries) {
    if (node->is_dir) {
      for_each_file(*node, prefix + name + "/", visit);
    } else {
      visit(prefix + name, *node);
    }
  }
}

}  // namespace

MemDisk::MemDisk() : root_(std::make_shared<MemNode>(true)) {}
MemDisk::~MemDisk() = default;

Result<MemDisk::Node> MemDisk::find(std::string_view path) const {
  TRY_VOID(check_path(path));
  Node node = root_;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (!node->is_dir) return refuse(ENOTDIR, "look-up", path);
    const auto it = node->entries.find(path.substr(at, end - at));
    if (it == node->entries.end()) return refuse(ENOENT, "look-up", path);
    node = it->second;
    at = end + 1;
  }
  return node;
}

Result<MemDisk::Node> MemDisk::find_dir(std::string_view path) const {
  TRY(Node node, find(path));
  if (!node->is_dir) return refuse(ENOTDIR, "look-up", path);
  return node;
}

Result<MemDisk::Node> MemDisk::find_parent(std::string_view path) const {
  TRY_VOID(check_path(path));
  if (path.empty()) return refuse(EINVAL, "change", path);
  return find_dir(path_parent(path));
}

Result<MemDisk::Node> MemDisk::open(std::string_view path, OpenOptions::Mode mode) {
  const std::lock_guard guard(mutex_);
  if (mode != OpenOptions::Mode::create_new) {
    TRY(Node node, find(path));
    if (node->is_dir) return refuse(EISDIR, "open", path);
    return node;
  }
  TRY(const Node dir, find_parent(path));
  const std::string name(path_leaf(path));
  if (dir->entries.contains(name)) return refuse(EEXIST, "creation", path);
  Node node = std::make_shared<MemNode>(false);
  dir->entries[name] = node;
  pending_.push_back({DirChange::Kind::create, dir, name, node, nullptr, {}});
  return node;
}

Result<void> MemDisk::remove(std::string_view path) {
  const std::lock_guard guard(mutex_);
  TRY(const Node dir, find_parent(path));
  const std::string name(path_leaf(path));
  const auto it = dir->entries.find(name);
  if (it == dir->entries.end()) return refuse(ENOENT, "removal", path);
  if (!it->second->entries.empty()) return refuse(ENOTEMPTY, "removal", path);
  pending_.push_back({DirChange::Kind::remove, dir, name, it->second, nullptr, {}});
  dir->entries.erase(it);
  return {};
}

Result<void> MemDisk::rename(std::string_view from, std::string_view to) {
  const std::lock_guard guard(mutex_);
  TRY(const Node dir, find_parent(from));
  TRY(const Node to_dir, find_parent(to));
  const std::string name(path_leaf(from));
  const std::string to_name(path_leaf(to));
  const auto it = dir->entries.find(name);
  if (it == dir->entries.end()) return refuse(ENOENT, "renaming", from);
  const auto target = to_dir->entries.find(to_name);
  if (target != to_dir->entries.end()) {
    if (target->second == it->second) return {};
    if (target->second->is_dir) return refuse(EISDIR, "renaming", to);
    if (it->second->is_dir) return refuse(ENOTDIR, "renaming", to);
  }
  const Node node = it->second;
  dir->entries.erase(it);
  to_dir->entries[to_name] = node;
  pending_.push_back({DirChange::Kind::rename, dir, name, node, to_dir, to_name});
  return {};
}

Result<void> MemDisk::create_dir(std::string_view path) {
  const std::lock_guard guard(mutex_);
  if (path.empty()) return {};
  TRY(const Node dir, find_parent(path));
  const std::string name(path_leaf(path));
  const auto it = dir->entries.find(name);
  if (it != dir->entries.end()) {
    if (!it->second->is_dir) return refuse(EEXIST, "creation", path);
    return {};
  }
  const Node node = std::make_shared<MemNode>(true);
  dir->entries[name] = node;
  pending_.push_back({DirChange::Kind::create, dir, name, node, nullptr, {}});
  return {};
}

// A file must not get a second durable name because the step in between was lost.
void MemDisk::apply(const DirChange& change) {
  MemNode::Entries& names = change.dir->durable_entries;
  switch (change.kind) {
    case DirChange::Kind::create:
      names[change.name] = change.target;
      return;
    case DirChange::Kind::remove:
      names.erase(change.name);
      return;
    case DirChange::Kind::rename:
      std::erase_if(names, [&](const auto& entry) { return entry.second == change.target; });
      change.to_dir->durable_entries[change.to_name] = change.target;
      return;
  }
}

Result<void> MemDisk::sync_dir(std::string_view path) {
  const std::lock_guard guard(mutex_);
  TRY(const Node dir, find_dir(path));
  std::erase_if(pending_, [&](const DirChange& change) {
    if (change.dir != dir && change.to_dir != dir) return false;
    apply(change);
    return true;
  });
  return {};
}

Result<std::vector<DirEntry>> MemDisk::list(std::string_view path) const {
  const std::lock_guard guard(mutex_);
  TRY(const Node dir, find_dir(path));
  std::vector<DirEntry> entries;
  for (const auto& [name, node] : dir->entries) entries.push_back({name, node->is_dir, node->size});
  return entries;
}

void MemDisk::set_bytes_limit(uint64_t limit) {
  const std::lock_guard guard(mutex_);
  bytes_limit_ = limit;
}

uint64_t MemDisk::used_locked() const {
  uint64_t used = 0;
  for_each_file(*root_, "", [&](const std::string&, const MemNode& node) {
    used += align_up(node.size, SparseBytes::kChunkBytes);
  });
  return used;
}

uint64_t MemDisk::used_bytes() const {
  const std::lock_guard guard(mutex_);
  return used_locked();
}

uint64_t MemDisk::free_bytes() const {
  const std::lock_guard guard(mutex_);
  const uint64_t used = used_locked();
  return used < bytes_limit_ ? bytes_limit_ - used : 0;
}

bool MemDisk::may_grow(const MemNode& node, uint64_t to) const {
  const uint64_t had = align_up(node.size, SparseBytes::kChunkBytes);
  const uint64_t wants = align_up(to, SparseBytes::kChunkBytes);
  if (wants <= had || bytes_limit_ == std::numeric_limits<uint64_t>::max()) return true;
  return used_locked() + (wants - had) <= bytes_limit_;
}

Result<void> MemDisk::resize(MemNode& node, uint64_t to, std::string_view path) {
  const std::lock_guard guard(mutex_);
  if (!may_grow(node, to)) return refuse(ENOSPC, "growth", path);
  node.resize(to);
  return {};
}

uint64_t MemDisk::size_of(const MemNode& node) const {
  const std::lock_guard guard(mutex_);
  return node.size;
}

void MemDisk::drop_unsynced(MemNode& node) {
  const std::lock_guard guard(mutex_);
  node.drop_unsynced();
}

bool MemDisk::try_lock(std::string_view path) {
  const std::lock_guard guard(mutex_);
  return locks_.emplace(path).second;
}

void MemDisk::unlock(std::string_view path) {
  const std::lock_guard guard(mutex_);
  const auto it = locks_.find(path);
  CHECK(it != locks_.end(), "'{}' is not locked", path);
  locks_.erase(it);
}

void MemDisk::begin(const Node& node, IoOp& op) {
  const std::lock_guard guard(mutex_);
  InFlight entry{&op, node, {}, 0};
  if (op.kind == IoOp::Kind::sync) {
    entry.sync_units = node->dirty;
    entry.sync_size = node->size;
  }
  in_flight_.push_back(std::move(entry));
}

void MemDisk::end(IoOp& op) {
  const std::lock_guard guard(mutex_);
  const auto it = std::find_if(in_flight_.begin(), in_flight_.end(),
                               [&](const InFlight& entry) { return entry.op == &op; });
  CHECK(it != in_flight_.end(), "an operation ended that was not in flight");
  carry_out(*it);
  in_flight_.erase(it);
}

void MemDisk::forget(const IoOp& op) {
  const std::lock_guard guard(mutex_);
  std::erase_if(in_flight_, [&](const InFlight& entry) { return entry.op == &op; });
}

void MemDisk::carry_out(InFlight& entry) {
  IoOp& op = *entry.op;
  MemNode& node = *entry.node;
  switch (op.kind) {
    case IoOp::Kind::read: {
      const uint64_t left = op.offset < node.size ? node.size - op.offset : 0;
      const size_t n = static_cast<size_t>(std::min<uint64_t>(op.size, left));
      node.now.read(op.offset, reinterpret_cast<char*>(op.data), n);
      op.result = static_cast<int64_t>(n);
      return;
    }
    case IoOp::Kind::write:
      if (!may_grow(node, op.offset + op.size)) {
        op.result = -ENOSPC;
        return;
      }
      node.write(op.offset, reinterpret_cast<const char*>(op.data), op.size);
      if (op.dsync) node.make_range_durable(op.offset, op.size);
      if (!op.dsync) last_write_ = {entry.node, op.offset, op.size};
      op.result = static_cast<int64_t>(op.size);
      return;
    case IoOp::Kind::sync:
      node.make_durable(entry.sync_units, entry.sync_size);
      op.result = 0;
      return;
  }
}

Result<std::string> MemDisk::read_all(std::string_view path) const {
  const std::lock_guard guard(mutex_);
  TRY(const Node node, find(path));
  if (node->is_dir) return refuse(EISDIR, "read", path);
  std::string content(node->size, '\0');
  node->now.read(0, content.data(), content.size());
  return content;
}

Result<void> MemDisk::write_all(std::string_view path, std::string_view content) {
  const std::lock_guard guard(mutex_);
  TRY(const Node dir, find_parent(path));
  const std::string name(path_leaf(path));
  Node& node = dir->entries[name];
  if (node == nullptr) node = std::make_shared<MemNode>(false);
  if (node->is_dir) return refuse(EISDIR, "write", path);
  node->resize(0);
  node->write(0, content.data(), content.size());
  const MemNode::DirtyUnits everything = node->dirty;
  node->make_durable(everything, content.size());
  std::erase_if(pending_, [&](const DirChange& change) {
    return change.dir == dir && change.name == name && change.kind != DirChange::Kind::rename;
  });
  Node parent = root_;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string segment(path.substr(at, end - at));
    const Node child = parent->entries[segment];
    parent->durable_entries[segment] = child;
    parent = child;
    at = end + 1;
  }
  return {};
}

Result<void> MemDisk::corrupt(std::string_view path, uint64_t offset, uint8_t xor_mask) {
  const std::lock_guard guard(mutex_);
  TRY(const Node node, find(path));
  if (node->is_dir || offset >= node->size) return refuse(EINVAL, "corruption", path);
  for (SparseBytes* layer : {&node->now, &node->durable}) {
    char byte = 0;
    layer->read(offset, &byte, 1);
    byte = static_cast<char>(static_cast<uint8_t>(byte) ^ xor_mask);
    layer->write(offset, &byte, 1);
  }
  return {};
}

std::vector<std::string> MemDisk::all_files() const {
  const std::lock_guard guard(mutex_);
  std::vector<std::string> paths;
  for_each_file(*root_, "",
                [&](const std::string& path, const MemNode&) { paths.push_back(path); });
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool MemDisk::has_unsynced(std::string_view path) const {
  const std::lock_guard guard(mutex_);
  const auto node = find(path);
  return node && (*node)->unsynced();
}

}  // namespace cellar
