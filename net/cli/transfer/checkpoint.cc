#include "net/cli/transfer/checkpoint.h"

#include <boost/json.hpp>

#include "io/base/crc32c.h"
#include "net/cli/transfer/output_file.h"

namespace cellar::cli {

namespace json = boost::json;

namespace {

constexpr size_t kMaxCheckpointBytes = 64 * 1024;

uint64_t number(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  if (!value) return 0;
  if (value->is_uint64()) return value->as_uint64();
  return value->is_int64() ? static_cast<uint64_t>(value->as_int64()) : 0;
}

std::string member_text(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

}  // namespace

std::string checkpoint_path(const std::string& input, const std::string& table) {
  return fmt::format("{}.{}.checkpoint", input, table);
}

Result<void> write_checkpoint(const std::string& path, const ImportIdentity& identity,
                              const Checkpoint& c) {
  json::object object;
  object["cellar_import"] = 1;
  object["table"] = identity.table;
  object["format"] = identity.format;
  object["file_bytes"] = identity.file_bytes;
  object["file_time_ns"] = identity.file_time_ns;
  object["offset"] = c.at.offset;
  object["line"] = c.at.line;
  object["records"] = c.stats.records;
  object["rows"] = c.stats.rows;
  object["cells"] = c.stats.cells;
  object["rejected"] = c.stats.rejected;
  if (c.at_us) object["at_us"] = *c.at_us;
  if (c.now_us) object["now_us"] = *c.now_us;
  object["crc32c"] = crc32c(json::serialize(object));
  return replace_whole_file(path, json::serialize(object) + "\n");
}

Result<std::optional<Checkpoint>> read_checkpoint(const std::string& path,
                                                  const ImportIdentity& identity) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return std::optional<Checkpoint>();
  std::string content(kMaxCheckpointBytes, '\0');
  content.resize(std::fread(content.data(), 1, content.size(), file));
  std::fclose(file);
  TRY(const Checkpoint checkpoint, parse_checkpoint(content, path, identity));
  return std::optional<Checkpoint>(checkpoint);
}

Result<Checkpoint> parse_checkpoint(std::string_view content, const std::string& path,
                                    const ImportIdentity& identity) {
  json::error_code error;
  json::value value = json::parse(content, error);
  json::object* object = error ? nullptr : value.if_object();
  if (!object || number(*object, "cellar_import") != 1) {
    return fail(Errc::failed_precondition, "{} is not a checkpoint of an import", path);
  }
  const uint64_t checksum = number(*object, "crc32c");
  object->erase("crc32c");
  // erase() moves the last member, which this is.
  if (checksum != crc32c(json::serialize(*object))) {
    return fail(Errc::failed_precondition,
                "{} is damaged: its checksum is wrong; remove it to begin anew", path);
  }
  const auto wrong = [&](std::string_view what) {
    return fail(Errc::failed_precondition, "{} is of another {}; remove it to begin anew", path,
                what);
  };
  if (member_text(*object, "table") != identity.table) return wrong("table");
  if (member_text(*object, "format") != identity.format) return wrong("format");
  if (number(*object, "file_bytes") != identity.file_bytes ||
      static_cast<int64_t>(number(*object, "file_time_ns")) != identity.file_time_ns) {
    return wrong("state of the input: the file has changed since");
  }
  Checkpoint c;
  c.at = {number(*object, "offset"), number(*object, "line")};
  c.stats.records = number(*object, "records");
  c.stats.rows = number(*object, "rows");
  c.stats.cells = number(*object, "cells");
  c.stats.rejected = number(*object, "rejected");
  c.stats.bytes = c.at.offset;
  if (object->contains("at_us")) c.at_us = static_cast<int64_t>(number(*object, "at_us"));
  if (object->contains("now_us")) c.now_us = static_cast<int64_t>(number(*object, "now_us"));
  return c;
}

void remove_checkpoint(const std::string& path) { std::remove(path.c_str()); }

}  // namespace cellar::cli
