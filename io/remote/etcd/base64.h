// Base64 with the standard alphabet and padding, as JSON carries bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cellar::etcd {

std::string to_base64(std::string_view bytes);
// Empty optional: the text is not base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace cellar::etcd
