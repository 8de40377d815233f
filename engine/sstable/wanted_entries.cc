#include "engine/sstable/wanted_entries.h"

namespace cellar::engine {

void RowProbe::aim(Bytes row_prefix) {
  row_ = row_prefix;
  row_hash_ = engine::row_hash(row_prefix);
  keys_.clear();
  columns_.clear();
  families_.clear();
}

void RowProbe::add(std::vector<Key>& keys, size_t begin) {
  const Bytes key = Bytes(keys_).substr(begin);
  keys.push_back({begin, key.size(), engine::row_hash(key)});
}

void RowProbe::add_key(Bytes key) {
  const size_t begin = keys_.size();
  keys_.append(key);
  add(columns_, begin);
}

void RowProbe::add_column(Bytes family, Bytes qualifier) {
  size_t begin = keys_.size();
  if (families_.empty() || family_ != family) {
    family_.assign(family);
    append_family_start(keys_, row_, family);
    add(families_, begin);
    begin = keys_.size();
  }
  std::string scratch;
  const Bytes row = decode_row_prefix(row_, scratch);
  append_column_prefix(keys_, row, family, qualifier);
  add(columns_, begin);
}

}  // namespace cellar::engine
