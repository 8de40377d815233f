// Prints and verifies one record file: a log segment or a manifest.
#pragma once

#include "engine/inspect/dump.h"
#include "engine/record/record.h"
#include "io/base/result.h"
#include "io/disk/file.h"

namespace cellar::engine {

// Walks the records to the end. Later bytes that were once durable are damage, reported to `dump`;
// others are a torn tail, which is not. Errors: of the device, of a file that cannot be opened, or
// of a damaged file header.
Async<Result<void>> dump_record_file(FileSystem& fs, std::string path, RecordFileKind kind,
                                     DumpOptions options, Dump& dump);

}  // namespace cellar::engine
