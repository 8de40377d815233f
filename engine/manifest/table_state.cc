#include "engine/manifest/table_state.h"

#include <utility>

#include "io/base/coding.h"

namespace cellar::engine {
namespace {

// In place of the schema format number, which counts from 1 and stays below this.
constexpr uint8_t kDroppedTable = 129;

}  // namespace

std::string encode_table_state(const TableSchema& schema, const std::optional<DropMark>& drop) {
  std::string out;
  if (drop) {
    put_u8(out, kDroppedTable);
    put_varint(out, static_cast<uint64_t>(drop->dropped_us));
    put_varint(out, static_cast<uint64_t>(drop->restorable_until_us));
  }
  return out + encode_schema(schema);
}

Result<TableState> decode_table_state(Bytes encoded) {
  TableState state;
  Reader in(encoded);
  if (in.u8() == kDroppedTable) {
    DropMark& mark = state.drop.emplace();
    mark.dropped_us = static_cast<int64_t>(in.varint());
    mark.restorable_until_us = static_cast<int64_t>(in.varint());
    if (!in.ok()) return fail(Errc::data_loss, "the mark of a dropped table is cut short");
    encoded.remove_prefix(encoded.size() - in.remaining());
  }
  TRY(state.schema, decode_schema(encoded));
  return state;
}

}  // namespace cellar::engine
