#include "tests/net/evolution/conform.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "io/base/check.h"

namespace cellar::evolution {
namespace {

using flatbuffers::EnumDef;
using flatbuffers::FieldDef;
using flatbuffers::Parser;
using flatbuffers::StructDef;
using flatbuffers::Type;

using Complaints = std::vector<std::string>;

template <class Definition>
std::string full_name(const Definition& definition) {
  return definition.defined_namespace->GetFullyQualifiedName(definition.name);
}

bool same_type(const Type& a, const Type& b) {
  const auto name_of = [](const auto* definition) {
    return definition == nullptr ? std::string() : full_name(*definition);
  };
  return a.base_type == b.base_type && a.element == b.element && a.fixed_length == b.fixed_length &&
         name_of(a.struct_def) == name_of(b.struct_def) &&
         name_of(a.enum_def) == name_of(b.enum_def);
}

const FieldDef* field_at(const StructDef& in, uint16_t offset) {
  for (const FieldDef* field : in.fields.vec) {
    if (field->value.offset == offset) return field;
  }
  return nullptr;
}

void compare_field(const std::string& where, const FieldDef& was, const FieldDef& is,
                   Complaints& out) {
  if (!same_type(was.value.type, is.value.type)) {
    out.push_back(fmt::format("{}: its type changed", where));
  }
  if (was.value.constant != is.value.constant) {
    out.push_back(fmt::format("{}: its default changed from {} to {}", where, was.value.constant,
                              is.value.constant));
  }
  if (was.presence != is.presence) {
    out.push_back(fmt::format("{}: whether it must be there changed", where));
  }
}

// A struct cannot grow: only a reserved field may get a name.
void compare_struct(const StructDef& was, const StructDef& is, Complaints& out) {
  const std::string name = full_name(was);
  if (!is.fixed || was.bytesize != is.bytesize || was.minalign != is.minalign ||
      was.fields.vec.size() != is.fields.vec.size()) {
    out.push_back(fmt::format("struct {}: its size, alignment or number of fields changed", name));
    return;
  }
  for (const FieldDef* field : was.fields.vec) {
    const std::string where = fmt::format("struct {}, field {}", name, field->name);
    const FieldDef* now = field_at(is, field->value.offset);
    if (now == nullptr || (now->name != field->name && !field->name.starts_with("reserved"))) {
      out.push_back(fmt::format("{}: it is gone, or lies elsewhere", where));
    } else {
      compare_field(where, *field, *now, out);
    }
  }
}

void compare_table(const StructDef& was, const StructDef& is, Complaints& out) {
  const std::string name = full_name(was);
  if (is.fixed) {
    out.push_back(fmt::format("table {} became a struct", name));
    return;
  }
  uint16_t last = 0;
  for (const FieldDef* field : was.fields.vec) {
    last = std::max(last, field->value.offset);
    const std::string where = fmt::format("table {}, field {}", name, field->name);
    const FieldDef* now = field_at(is, field->value.offset);
    if (now == nullptr || now->name != field->name) {
      out.push_back(fmt::format("{}: it is gone, or has another id", where));
    } else {
      compare_field(where, *field, *now, out);
    }
  }
  for (const FieldDef* field : is.fields.vec) {
    if (field->value.offset > last && field->IsRequired()) {
      out.push_back(fmt::format("table {}, new field {}: must not be required", name, field->name));
    }
  }
}

void compare_enum(const EnumDef& was, const EnumDef& is, Complaints& out) {
  const std::string name = full_name(was);
  if (was.underlying_type.base_type != is.underlying_type.base_type) {
    out.push_back(fmt::format("enum {}: its width changed", name));
  }
  for (const auto* value : was.Vals()) {
    const auto* now = is.Lookup(value->name);
    if (now == nullptr || now->GetAsInt64() != value->GetAsInt64()) {
      out.push_back(
          fmt::format("enum {}, value {}: it is gone, or has another number", name, value->name));
    }
  }
}

}  // namespace

std::string read_schema(const std::string& folder, const std::string& name) {
  std::ifstream file(folder + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  CHECK(file.good(), "cannot read {}/{}", folder, name);
  return text.str();
}

std::unique_ptr<Parser> parse_schema(const std::string& text, const std::string& folder) {
  flatbuffers::IDLOptions options;
  options.require_explicit_ids = true;
  auto parser = std::make_unique<Parser>(options);
  const char* includes[] = {folder.c_str(), nullptr};
  const bool parsed = parser->Parse(text.c_str(), includes);
  CHECK(parsed, "the schema does not parse: {}", parser->error_);
  return parser;
}

std::vector<std::string> broken_promises(Parser& released, Parser& now) {
  Complaints out;
  // flatc's own rules first; the rules here are stricter and include structs and names.
  if (const std::string text = now.ConformTo(released); !text.empty()) out.push_back(text);
  for (const StructDef* was : released.structs_.vec) {
    const StructDef* is = now.LookupStruct(full_name(*was));
    if (is == nullptr) {
      out.push_back(fmt::format("{} is gone", full_name(*was)));
    } else if (was->fixed) {
      compare_struct(*was, *is, out);
    } else {
      compare_table(*was, *is, out);
    }
  }
  for (const EnumDef* was : released.enums_.vec) {
    const EnumDef* is = now.enums_.Lookup(full_name(*was));
    if (is == nullptr) {
      out.push_back(fmt::format("{} is gone", full_name(*was)));
    } else {
      compare_enum(*was, *is, out);
    }
  }
  return out;
}

}  // namespace cellar::evolution
