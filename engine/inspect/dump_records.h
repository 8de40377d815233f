// Prints and verifies one record file: a segment of a log, or a manifest.
#pragma once

#include "engine/inspect/dump.h"
#include "engine/record/record.h"
#include "io/base/result.h"
#include "io/disk/file.h"

namespace cellar::engine {

// Walks the records to where they stop. Bytes that follow and were once durable are damage, told to
// `dump`; others are a torn tail, which is none. An error is one of the device, of a file that
// cannot be opened, or of a damaged file header.
Async<Result<void>> dump_record_file(FileSystem& fs, std::string path, RecordFileKind kind,
                                     DumpOptions options, Dump& dump);

}  // namespace cellar::engine
