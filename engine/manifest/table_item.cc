#include "engine/manifest/table_item.h"

#include "engine/manifest/decode.h"
#include "io/base/coding.h"

namespace cellar::engine {
std::string encode_table_item(const TableItem& item) {
  std::string out;
  put_u8(out, TableItem::kVersion);
  put_bytes(out, item.rows.start);
  put_bytes(out, item.rows.end);
  return out + encode_table_meta(item.meta);
}

Result<TableItem> decode_table_item(Bytes encoded) {
  TableItem item;
  Reader in(encoded);
  TRY_VOID(check_version(in, TableItem::kVersion, "table of a tablet"));
  item.rows.start = in.bytes();
  item.rows.end = in.bytes();
  if (!in.ok() || item.rows.empty()) {
    return fail(Errc::data_loss, "the rows of a tablet's table are malformed");
  }
  TRY(item.meta, decode_table_meta(encoded.substr(encoded.size() - in.remaining())));
  return item;
}

}  // namespace cellar::engine
