#include "tests/support/trace/durability_ledger.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::test {

uint64_t DurabilityLedger::begin_write(FileId file, std::string path, uint64_t offset,
                                       uint64_t size, bool dsync, std::string_view data) {
  Piece piece;
  piece.path = std::move(path);
  piece.offset = offset;
  piece.end = size == kWholeFile ? kWholeFile : offset + size;
  piece.dsync = dsync;
  for (const std::string& text : texts_) {
    const size_t at = data.find(text);
    if (at != std::string_view::npos) piece.texts[text] = offset + at;
  }
  const uint64_t id = ++step_;
  operations_[id] = {file, id, id};
  if (!data.empty()) overwrite(operations_[id], piece);
  pieces_[file][id] = std::move(piece);
  return id;
}

uint64_t DurabilityLedger::begin_sync(FileId file_or_directory) {
  const uint64_t id = ++step_;
  operations_[id] = {file_or_directory, id, 0};
  return id;
}

void DurabilityLedger::end(uint64_t operation, int64_t result) {
  const auto found = operations_.find(operation);
  CHECK(found != operations_.end(), "an operation ends that did not begin");
  const Operation ended = found->second;
  operations_.erase(found);
  ++step_;
  if (ended.piece != 0) {
    end_write(ended, result);
  } else if (result >= 0) {
    end_sync(ended);
  }
}

void DurabilityLedger::cancel(uint64_t operation) {
  const auto found = operations_.find(operation);
  CHECK(found != operations_.end(), "an operation is cancelled that did not begin");
  if (found->second.piece != 0) pieces_[found->second.file].erase(found->second.piece);
  operations_.erase(found);
}

void DurabilityLedger::end_write(const Operation& operation, int64_t result) {
  auto& pieces = pieces_[operation.file];
  Piece& piece = pieces.at(operation.piece);
  if (result < 0) return;  // stays in flight for ever: its bytes are undefined
  if (piece.end != kWholeFile) piece.end = piece.offset + static_cast<uint64_t>(result);
  piece.finished = step_;
  piece.durable = piece.dsync;
  if (!piece.durable) return;
  // Earlier writes below a durable one are gone; nobody can lose them.
  const uint64_t offset = piece.offset;
  const uint64_t end = piece.end;
  const bool keep = !piece.texts.empty();
  std::erase_if(pieces, [&](const auto& entry) {
    const Piece& other = entry.second;
    if (entry.first == operation.piece) return !keep;
    return other.finished != 0 && !other.durable && other.finished < operation.began &&
           other.offset >= offset && other.end <= end;
  });
}

void DurabilityLedger::end_sync(const Operation& operation) {
  for (auto& [id, piece] : pieces_[operation.file]) {
    if (piece.finished != 0 && piece.finished < operation.began) piece.durable = true;
  }
  std::erase_if(pieces_[operation.file], [](const auto& entry) {
    return entry.second.durable && entry.second.texts.empty();
  });
  const auto names = names_.find(operation.file);
  if (names == names_.end()) return;
  std::erase_if(names->second,
                [&](const NameChange& name) { return name.finished < operation.began; });
}

void DurabilityLedger::name_changed(FileId directory, std::string path, std::string change) {
  names_[directory].push_back({std::move(path), std::move(change), ++step_});
}

// Texts that a write replaces by other bytes are gone when it begins.
void DurabilityLedger::overwrite(const Operation& operation, const Piece& by) {
  for (auto& [id, piece] : pieces_[operation.file]) {
    std::erase_if(piece.texts, [&](const auto& entry) {
      const auto& [text, at] = entry;
      const auto same = by.texts.find(text);
      return at < by.end && at + text.size() > by.offset &&
             (same == by.texts.end() || same->second != at);
    });
  }
}

void DurabilityLedger::removed(FileId directory, const std::string& path) {
  forget(path);
  name_changed(directory, path, "removal");
}

void DurabilityLedger::forget(const std::string& path) {
  for (auto& [file, pieces] : pieces_) {
    std::erase_if(pieces, [&](const auto& entry) {
      return entry.second.path == path && entry.second.finished != 0;
    });
  }
}

void DurabilityLedger::renamed(FileId from_directory, FileId to_directory, const std::string& from,
                               const std::string& to) {
  forget(to);
  for (auto& [file, pieces] : pieces_) {
    for (auto& [id, piece] : pieces) {
      if (piece.path != from && !piece.path.starts_with(from + "/")) continue;
      piece.path = to + piece.path.substr(from.size());
      if (to.ends_with(kTemporary)) piece.texts.clear();
    }
  }
  name_changed(to_directory, to, "renaming from " + from);
  if (from_directory != to_directory) name_changed(from_directory, from, "renaming to " + to);
}

std::string DurabilityLedger::lost_name_above(std::string_view path) const {
  for (const auto& [directory, names] : names_) {
    for (const NameChange& name : names) {
      const bool above =
          path == name.path || (path.starts_with(name.path) && path[name.path.size()] == '/');
      if (above) return name.path + ": " + name.change + " is not synced";
    }
  }
  return {};
}

std::vector<std::string> DurabilityLedger::pending() const {
  std::vector<std::string> result;
  for (const auto& [file, pieces] : pieces_) {
    for (const auto& [id, piece] : pieces) {
      if (piece.durable) continue;
      const char* state = piece.finished == 0 ? "in flight or failed" : "not synced";
      result.push_back(piece.path + ": bytes from " + std::to_string(piece.offset) + ", " + state);
    }
  }
  for (const auto& [directory, names] : names_) {
    for (const NameChange& name : names)
      result.push_back(name.path + ": " + name.change + " is not synced");
  }
  return result;
}

std::string DurabilityLedger::missing_of(std::string_view text) const {
  std::string why = "no write has it";
  for (const auto& [file, pieces] : pieces_) {
    for (const auto& [id, piece] : pieces) {
      if (!piece.texts.contains(std::string(text))) continue;
      if (!piece.durable) {
        why = piece.path + ": its bytes are " +
              (piece.finished == 0 ? "in flight or failed" : "not synced");
        continue;
      }
      std::string lost = lost_name_above(piece.path);
      if (lost.empty()) return {};
      why = std::move(lost);
    }
  }
  return why;
}

}  // namespace cellar::test
