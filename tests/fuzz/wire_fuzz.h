// What the wire fuzzer does with one input: a stream of frames, and every request body in it
// decoded as its operation says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cellar::fuzz {

// Aborts when something that must hold does not.
void fuzz_wire(const uint8_t* data, size_t size);
// Streams that a real client would send, to start from.
std::vector<std::string> wire_seeds();

}  // namespace cellar::fuzz
