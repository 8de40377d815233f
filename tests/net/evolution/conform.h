// Allowed changes of the schema, by the rules of "How the protocol changes" in schema/PROTOCOL.md.
#pragma once

#include <flatbuffers/idl.h>

#include <memory>
#include <string>
#include <vector>

namespace cellar::evolution {

// Parses one schema text; `folder` is where its includes are. CHECKs that it parses.
std::unique_ptr<flatbuffers::Parser> parse_schema(const std::string& text,
                                                  const std::string& folder);
std::string read_schema(const std::string& folder, const std::string& name);

// Everything in `now` that is incompatible with `released`; empty: nothing is.
std::vector<std::string> broken_promises(flatbuffers::Parser& released, flatbuffers::Parser& now);

}  // namespace cellar::evolution
