#include "net/security/principals.h"

#include <toml++/toml.h>

#include <algorithm>

namespace cellar::security {
namespace {

std::unexpected<Error> wrong(const toml::node& node, std::string_view what) {
  return fail(Errc::invalid_argument, "line {}: {}", node.source().begin.line, what);
}

Result<std::string> text_of(const toml::node& node, std::string_view key, size_t max_bytes) {
  const auto* text = node.as_string();
  if (text == nullptr) return wrong(node, fmt::format("{} is not a string", key));
  if (text->get().size() > max_bytes) {
    return wrong(node, fmt::format("{} is longer than {} bytes", key, max_bytes));
  }
  return text->get();
}

Result<std::vector<std::string>> texts_of(const toml::node& node, std::string_view key,
                                          size_t max_items, size_t max_bytes) {
  const auto* list = node.as_array();
  if (list == nullptr) return wrong(node, fmt::format("{} is not a list", key));
  if (list->size() > max_items) {
    return wrong(node,
                 fmt::format("{} has {} entries, more than {}", key, list->size(), max_items));
  }
  std::vector<std::string> texts;
  for (const toml::node& item : *list) {
    TRY(std::string text, text_of(item, key, max_bytes));
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<Grant> parse_grant(const toml::node& node) {
  const auto* table = node.as_table();
  if (table == nullptr) return wrong(node, "grant is not a table");
  Grant grant;
  bool has_prefix = false;
  for (const auto& [key, value] : *table) {
    if (key.str() == "prefix") {
      TRY(grant.prefix, text_of(value, "prefix", Principal::kMaxPrefixBytes));
      has_prefix = true;
    } else if (key.str() == "roles") {
      TRY(const auto names, texts_of(value, "roles", std::size(kAllRoles), 32));
      for (const std::string& name : names) {
        const auto role = parse_role(name);
        if (!role) return wrong(value, role.error().message);
        grant.roles.add(*role);
      }
    } else {
      return wrong(value, fmt::format("a grant has prefix and roles, no '{}'", key.str()));
    }
  }
  if (!has_prefix) return wrong(node, "a grant has no prefix (\"\" is every table)");
  if (grant.roles.empty()) return wrong(node, "a grant has no roles");
  return grant;
}

Result<void> parse_key(std::string_view key, const toml::node& value, Principal& out) {
  if (key == "name") {
    TRY(out.name, text_of(value, key, Principal::kMaxNameBytes));
    return {};
  }
  if (key == "tokens") {
    TRY(const auto texts, texts_of(value, key, Principal::kMaxTokens, 128));
    for (const std::string& text : texts) {
      const auto digest = parse_hash_text(text);
      if (!digest) return wrong(value, digest.error().message);
      out.tokens.push_back(*digest);
    }
    return {};
  }
  if (key == "certificates") {
    TRY(out.certificates, texts_of(value, key, Principal::kMaxCertificates, 1024));
    return {};
  }
  if (key == "grant") {
    const auto* list = value.as_array();
    if (list == nullptr) return wrong(value, "write grants as [[principal.grant]]");
    if (list->size() > Principal::kMaxGrants) return wrong(value, "more than 64 grants");
    for (const toml::node& item : *list) {
      TRY(Grant grant, parse_grant(item));
      out.grants.push_back(std::move(grant));
    }
    return {};
  }
  return wrong(value,
               fmt::format("a principal has name, tokens, certificates and grant, no '{}'", key));
}

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '@' || c == '/';
  });
}

Result<Principal> parse_principal(const toml::node& node) {
  const auto* table = node.as_table();
  if (table == nullptr) return wrong(node, "principal is not a table");
  Principal out;
  for (const auto& [key, value] : *table) TRY_VOID(parse_key(key.str(), value, out));
  if (!is_name(out.name)) {
    return wrong(node, "a principal's name is of letters, digits and -_.@/");
  }
  if (out.tokens.empty() && out.certificates.empty()) {
    return wrong(node,
                 fmt::format("nothing proves who '{}' is: no tokens, no certificates", out.name));
  }
  return out;
}

}  // namespace

Roles Principal::roles_on(Bytes table) const {
  Roles roles;
  for (const Grant& grant : grants) {
    if (table.starts_with(grant.prefix)) roles.add(grant.roles);
  }
  return roles;
}

Roles Principal::roles_anywhere() const {
  Roles roles;
  for (const Grant& grant : grants) roles.add(grant.roles);
  return roles;
}

bool Principal::covers(const Principal& other) const {
  return std::all_of(other.grants.begin(), other.grants.end(), [this](const Grant& grant) {
    return roles_on(grant.prefix).has_all(grant.roles);
  });
}

Result<std::shared_ptr<const Principals>> Principals::parse(std::string_view text,
                                                            std::string_view origin) {
  if (text.size() > kMaxFileBytes) {
    return fail(Errc::invalid_argument, "{}: {} bytes are more than {}", origin, text.size(),
                kMaxFileBytes);
  }
  toml::table table;
  try {
    table = toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid_argument, "{}: line {}: {}", origin, error.source().begin.line,
                error.description());
  }
  auto out = std::make_shared<Principals>();
  for (const auto& [key, value] : table) {
    const auto* list = value.as_array();
    if (key.str() != "principal" || list == nullptr) {
      return fail(Errc::invalid_argument,
                  "{}: line {}: there is only [[principal]] in this file, no '{}'", origin,
                  key.source().begin.line, key.str());
    }
    for (const toml::node& node : *list) {
      auto principal = parse_principal(node);
      Result<void> added;
      if (principal) added = out->add(std::move(*principal));
      const Error* error = !principal ? &principal.error() : !added ? &added.error() : nullptr;
      if (error) return fail(Errc::invalid_argument, "{}: {}", origin, error->message);
    }
  }
  return out;
}

Result<void> Principals::add(Principal principal) {
  if (all_.size() == kMaxPrincipals) {
    return fail(Errc::invalid_argument, "more than {} principals", kMaxPrincipals);
  }
  if (named(principal.name)) {
    return fail(Errc::invalid_argument, "there are two principals '{}'", principal.name);
  }
  for (const Digest& token : principal.tokens) {
    if (const auto other = with_token(token)) {
      return fail(Errc::invalid_argument, "'{}' and '{}' have the same token", other->name,
                  principal.name);
    }
  }
  for (const std::string& subject : principal.certificates) {
    if (const auto other = with_certificate(subject)) {
      return fail(Errc::invalid_argument, "'{}' and '{}' have the same certificate", other->name,
                  principal.name);
    }
  }
  all_.push_back(std::make_shared<const Principal>(std::move(principal)));
  return {};
}

std::shared_ptr<const Principal> Principals::named(std::string_view name) const {
  for (const auto& one : all_) {
    if (one->name == name) return one;
  }
  return nullptr;
}

std::shared_ptr<const Principal> Principals::with_token(const Digest& hash) const {
  std::shared_ptr<const Principal> found;
  for (const auto& one : all_) {
    for (const Digest& token : one->tokens) {
      if (equal_in_constant_time(token, hash)) found = one;
    }
  }
  return found;
}

std::shared_ptr<const Principal> Principals::with_certificate(std::string_view subject) const {
  for (const auto& one : all_) {
    if (std::find(one->certificates.begin(), one->certificates.end(), subject) !=
        one->certificates.end()) {
      return one;
    }
  }
  return nullptr;
}

}  // namespace cellar::security
