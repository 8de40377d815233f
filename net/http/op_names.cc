#include "net/http/op_names.h"

#include "net/wire/op.h"

namespace cellar::http {

std::string op_name(size_t op) {
  const std::string_view camel = wire::op_name(static_cast<uint16_t>(op));
  if (camel.empty()) return "none";
  std::string name;
  for (const char c : camel) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !name.empty()) name.push_back('_');
    name.push_back(upper ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return name;
}

std::string code_name(Errc code) {
  std::string name(errc_name(code));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

}  // namespace cellar::http
