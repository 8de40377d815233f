// RadosWrite: a compound write to one object of RADOS. Its guards and changes take effect together
// or not at all. Guards come before changes. The guarded append of a log:
//
//   RadosWrite append;
//   append.require_xattr("s", session).require_xattr("e", position_text(end));
//   append.write(end, batch).set_xattr("e", position_text(end + batch.size()));
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/base/strong.h"

namespace cellar {

// A pool and a namespace that a port has opened; valid for this port only.
using RadosPool = Strong<struct RadosPoolTag, uint32_t>;

struct RadosObject {
  RadosPool pool;
  std::string name;  // 1 to RadosPort::kMaxNameBytes bytes, none of them zero
};

struct RadosStep {
  // The numbers are known to the cluster module (rados/module_api.h): never renumber.
  enum class Kind : uint8_t {
    require_xattr = 0,   // guard: the attribute `key` is `value`; an absent one counts as empty
    require_exists = 1,  // guard
    create_new = 2,      // guard and change: the object must be absent
    create = 3,
    write = 4,       // `value` at `offset`; a gap before it reads as zeros
    write_full = 5,  // replaces the content, not the attributes
    set_xattr = 6,
    set_omap = 7,
    remove_omap = 8,
    remove = 9,
  };
  Kind kind;
  uint64_t offset = 0;
  std::string key;
  std::string value;
};

// Names of attributes and keys have no zero byte; values are any bytes.
class RadosWrite {
 public:
  // An absent object has no attributes: it refuses by `absent`.
  RadosWrite& require_xattr(std::string name, std::string value) {
    return add({RadosStep::Kind::require_xattr, 0, std::move(name), std::move(value)});
  }
  RadosWrite& require_exists() { return add({RadosStep::Kind::require_exists, 0, {}, {}}); }
  RadosWrite& create_new() { return add({RadosStep::Kind::create_new, 0, {}, {}}); }
  RadosWrite& create() { return add({RadosStep::Kind::create, 0, {}, {}}); }
  RadosWrite& write(uint64_t offset, std::string data) {
    return add({RadosStep::Kind::write, offset, {}, std::move(data)});
  }
  RadosWrite& write_full(std::string data) {
    return add({RadosStep::Kind::write_full, 0, {}, std::move(data)});
  }
  RadosWrite& set_xattr(std::string name, std::string value) {
    return add({RadosStep::Kind::set_xattr, 0, std::move(name), std::move(value)});
  }
  // A pool with erasure coding has no omap: UNIMPLEMENTED.
  RadosWrite& set_omap(std::string key, std::string value) {
    return add({RadosStep::Kind::set_omap, 0, std::move(key), std::move(value)});
  }
  RadosWrite& remove_omap(std::string key) {
    return add({RadosStep::Kind::remove_omap, 0, std::move(key), {}});
  }
  // Of an absent object: refused by `absent`.
  RadosWrite& remove() { return add({RadosStep::Kind::remove, 0, {}, {}}); }

  const std::vector<RadosStep>& steps() const { return steps_; }
  std::vector<RadosStep> take_steps() && { return std::move(steps_); }

 private:
  RadosWrite& add(RadosStep step) {
    steps_.push_back(std::move(step));
    return *this;
  }

  std::vector<RadosStep> steps_;
};

}  // namespace cellar
