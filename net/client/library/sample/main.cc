// sample ADDRESS: writes, reads, scans, counts and sets a rule.
#include <cellar/cellar.h>

#include <cstdio>
#include <cstdlib>
#include <future>

namespace {

// The value of a call, or the end of the program.
template <class T>
T must(cellar::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "sample: %s: %s\n", cellar::name_of(result.error().code),
               result.error().message.c_str());
  std::exit(1);
}

constexpr std::int64_t kHourUs = 3'600'000'000;

}  // namespace

int main(int argc, char** argv) {
  cellar::Options options;
  if (argc > 1) options.address = argv[1];
  cellar::Client client(options);

  cellar::TableSpec spec;
  spec.name = "sample";
  spec.micros = true;
  spec.families.emplace_back("click", cellar::Rule::max_versions(3));
  must(client.create_table(spec));

  for (const char* page : {"/home", "/cart", "/home", "/pay"}) {
    cellar::Mutation click("user7");
    click.set("click", "page", page).with_ttl(kHourUs);
    must(client.mutate_row("sample", click));
  }
  const std::optional<cellar::Row> row = must(client.read_row("sample", "user7"));
  std::printf("user7 has %zu versions, the newest is %s\n", row->cells.size(),
              row->find("click", "page")->value.c_str());

  cellar::ReadModifyWrite visit("user8");
  visit.increment("click", "visits");
  must(client.read_modify_write("sample", visit));
  const cellar::Modified second = must(client.read_modify_write("sample", visit));
  std::printf("user8 has visited %lld times\n",
              static_cast<long long>(*cellar::number_of(second.row.cells.front().value)));

  // The callback runs on the client's thread.
  std::promise<std::string> absent;
  client.async_read_row("nowhere", "row", {},
                        [&absent](cellar::Result<std::optional<cellar::Row>> result) {
                          absent.set_value(result ? "found" : cellar::name_of(result.error().code));
                        });
  std::printf("a table that is not there: %s\n", absent.get_future().get().c_str());

  cellar::ReadRows users;
  users.prefix = "user";
  users.filter = cellar::Filter::cells_per_column(1);
  cellar::Scanner scanner = client.read_rows("sample", users);
  for (auto rows = must(scanner.next()); !rows.empty(); rows = must(scanner.next())) {
    for (const cellar::Row& one : rows) {
      std::printf("%s: %zu cells\n", one.key.c_str(), one.cells.size());
    }
  }

  const auto newest = cellar::Rule::max_versions(1);
  const cellar::Preview preview = must(client.preview_rule("sample", "click", newest));
  std::printf("the newest version alone would kill %llu cells\n",
              static_cast<unsigned long long>(preview.cells));
  must(client.set_rule("sample", "click", newest));
  must(client.undo_rule("sample", "click"));
  if (const auto dropped = client.drop_table("sample"); !dropped) return 1;
}
