#include <boost/json/serialize.hpp>

#include "tests/cases/player.h"
#include "tests/cases/translate.h"

namespace cellar::cases {
Player::Answer Player::play_table(const Step& step) {
  const std::string& verb = step.verb;
  if (verb == "create_table") {
    TRY(const client::TableSpec spec, parse_table(step.value.as_object()));
    const auto made = client().create_table(spec);
    if (made) tables_.insert(spec.name);
    return Played{error_of(made), ""};
  }
  if (verb == "alter_table") {
    TRY(const client::TableChange change, parse_change(step.value.as_object()));
    return Played{error_of(client().alter_table(change)), ""};
  }
  if (verb == "sample_keys") return sample_keys(step);
  if (verb == "preview") return preview(step);
  const std::string name(step.value.as_string());
  if (verb == "drop_table") {
    const auto dropped = client().drop_table(name);
    if (dropped) tables_.erase(name);
    return Played{error_of(dropped), ""};
  }
  if (verb == "restore_table") {
    const auto restored = client().restore_table(name);
    if (restored) tables_.insert(name);
    return Played{error_of(restored), ""};
  }
  if (verb == "flush") return Played{error_of(client().flush_table(name)), ""};
  if (verb == "compact") return Played{error_of(client().compact_table(name)), ""};
  return fail(Errc::invalid_argument, "the runner does not know the step '{}'", verb);
}

Player::Answer Player::sample_keys(const Step& step) {
  const auto samples = client().sample_row_keys(std::string_view(step.value.as_string()));
  if (!samples) return Played{samples.error(), ""};
  std::vector<std::string> keys;
  for (const auto& sample : *samples) {
    if (!sample.key.empty()) keys.push_back(sample.key);
  }
  if (step.expect == nullptr) return Played();
  std::vector<std::string> wanted;
  for (const auto& value : step.expect->as_array()) {
    TRY(std::string key, parse_bytes(value));
    wanted.push_back(std::move(key));
  }
  return Played{{},
                keys == wanted ? ""
                               : fmt::format("{} split keys, expected {}", keys.size(),
                                             json::serialize(*step.expect))};
}

Player::Answer Player::preview(const Step& step) {
  const auto& object = step.value.as_object();
  client::PreviewRule question;
  question.table = std::string_view(object.at("table").as_string());
  question.family = std::string_view(object.at("family").as_string());
  if (!object.at("rule").is_null()) {
    TRY(question.rule, parse_rule(object.at("rule")));
  }
  const auto reply = client().preview_rule(question);
  if (!reply) return Played{reply.error(), ""};
  if (step.expect == nullptr) return Played();
  const auto& expect = step.expect->as_object();
  const auto differs = [&](const char* key, uint64_t got) {
    return expect.contains(key) && expect.at(key).to_number<uint64_t>() != got;
  };
  if (!differs("cells", reply->cells) && !differs("rows", reply->rows)) return Played();
  return Played{{},
                fmt::format("{} cells of {} rows, expected {}", reply->cells, reply->rows,
                            json::serialize(expect))};
}

}  // namespace cellar::cases
