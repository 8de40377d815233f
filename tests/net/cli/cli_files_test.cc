// Import and export from the command line.

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "net/cli/transfer/checkpoint.h"
#include "net/cli/transfer/export_scan.h"
#include "net/cli/transfer/import_plan.h"
#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

class CliFiles : public CliBed {};

std::string contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST_F(CliFiles, WhatReadPrintsAsJsonImportTakesBack) {
  const std::string log = write_file("dpkg.log",
                                     "2025-06-24 14:36:25 startup archives unpack\n"
                                     "2025-06-24 14:36:25 install libc6:amd64 <none> 2.36-9\n"
                                     "2025-06-24 14:36:26 status installed libc6:amd64 2.36-9\n"
                                     "2025-06-24 14:36:26 status installed libc6:amd64 2.36-9\n");
  const std::string said = good({"import", "packages", log, "--create", "tz=utc"});
  EXPECT_NE(said.find("4 records"), std::string::npos) << said;
  EXPECT_NE(said.find("4 cells written"), std::string::npos) << said;
  EXPECT_EQ(good({"lookup", "packages", "libc6"}),
            "libc6\n"
            "  install:amd64     2025-06-24T14:36:25Z      2.36-9\n"
            "  status:installed  2025-06-24T14:36:26.001Z  2.36-9\n"
            "                    2025-06-24T14:36:26Z      2.36-9\n");
  const std::string rows = good({"read", "packages", "--json"});
  const std::string copy = write_file("copy.jsonl", rows);
  good({"import", "copied", copy, "--create"});
  EXPECT_EQ(good({"read", "copied", "--json"}), rows);
}

// A row in one part, and one that comes in several.
TEST_F(CliFiles, ReadAsJsonTellsWhenACellExpiresByItself) {
  const std::string large(1 << 20, 'x');
  good({"createtable", "mortal", "families=f"});
  good({"set", "mortal", "a", "f:q=v", "ttl=1h"});
  good({"set", "mortal", "b", "f:1=" + large, "f:2=" + large, "f:3=" + large, "ttl=1h"});
  EXPECT_NE(good({"lookup", "mortal", "a", "--json"}).find("\"expire_at\":"), std::string::npos);
  const std::string rows = good({"read", "mortal", "--json"});
  EXPECT_EQ(rows, good({"export", "mortal"}));
  good({"import", "mortal_copy", "-", "--format=jsonl", "--create", "families=f"}, rows);
  EXPECT_EQ(good({"export", "mortal_copy"}), rows);
}

TEST_F(CliFiles, ACellThatHasDiedKeepsNoLivingOneOut) {
  good({"createtable", "ageless", "families=f"});
  good({"set", "ageless", "r", "f:a=1", "f:b=2@1000", "f:c=3", "f:d=4"});
  for (const std::string form : {"jsonl", "csv", "cellar"}) {
    const std::string path = (dir() / ("ageing." + form)).string();
    const std::string table = "ageing_" + form;
    good({"export", "ageless", path});
    good({"createtable", table, "families=f:maxage=2d"});
    const Outcome outcome = cellar({"import", table, path});
    EXPECT_EQ(outcome.code, kPartial);
    EXPECT_NE(outcome.out.find(": 3 cells written"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("; 1 rejected"), std::string::npos) << outcome.out;
    const std::string line = form == "csv" ? "line 3: OUT_OF_RANGE" : "line 1: OUT_OF_RANGE";
    EXPECT_NE(outcome.err.find(line), std::string::npos) << outcome.err;
    EXPECT_EQ(good({"export", table}), good({"export", "ageless", "columns=f:a,f:c,f:d"}));
  }
}

TEST_F(CliFiles, EachRejectedCellCounts) {
  std::string lines = "row,family,qualifier,timestamp,value\n";
  for (int i = 0; i < 900; ++i) {
    lines += fmt::format("r,{},q{},1000,v\n", i % 100 == 7 ? "absent" : "f", i);
  }
  good({"createtable", "counted_cells", "families=f"});
  const std::string path = write_file("counted_cells.csv", lines);
  const Outcome outcome = cellar({"import", "counted_cells", path});
  EXPECT_NE(outcome.out.find(": 891 cells written"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("; 9 rejected"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("line 109: NOT_FOUND"), std::string::npos) << outcome.err;
  EXPECT_EQ(cellar({"import", "counted_cells", path, "max-errors=8"}).code, kFailed);
}

TEST_F(CliFiles, ALaterLineCountsWhereAnEarlierOneIsWrittenInParts) {
  good({"createtable", "later", "families=f"});
  EXPECT_EQ(cellar({"import", "later", "-", "--format=csv"},
                   "id,f:a,f:b,absent:c\nr,1,1,x\nr,2,,\nr,,2,\n")
                .code,
            kPartial);
  EXPECT_EQ(good({"export", "later", "format=csv"}).find(",1,"), std::string::npos);
}

TEST_F(CliFiles, ImportNamesTheLinesThatItRejectsAndLoadsTheRest) {
  good({"createtable", "partial", "families=f"});
  const Outcome outcome =
      cellar({"import", "partial", "-", "--format=csv", "name-errors=4"},
             "id,f:a,g:b\nr1,1,\nr2,1,x\nr3\nr4,\"1\n2\",\n,1,\nr6,,y\nr7,1,\n");
  EXPECT_EQ(outcome.code, kPartial);
  EXPECT_NE(outcome.err.find("line 4: INVALID_ARGUMENT: 1 fields where the header has 3"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("line 3: NOT_FOUND: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("further lines are only counted"), std::string::npos);
  EXPECT_NE(outcome.out.find("; 4 rejected"), std::string::npos) << outcome.out;
  EXPECT_EQ(good({"read", "partial", "keys-only=true"}), "r1\nr2\nr4\nr7\n");
}

TEST_F(CliFiles, ALargeImportIsWholeAndATableWithMicrosecondsIsMadeForIt) {
  std::string lines;
  for (int i = 0; i < 20'000; ++i) {
    lines += fmt::format(
        "{{\"row\":\"row{:05}\",\"cells\":[{{\"family\":\"f\",\"qualifier\":\"q\",\"timestamp\":{},"
        "\"value\":\"{}\"}}]}}\n",
        i, 1001 + i, std::string(100, 'x'));
  }
  good({"import", "large", write_file("large.jsonl", lines), "--create"});
  EXPECT_EQ(good({"count", "large"}), "20000\n");
  EXPECT_NE(good({"ls", "large"}).find("micros"), std::string::npos);
}

TEST_F(CliFiles, AnImportStopsAtTheBoundOfRejectedLines) {
  good({"createtable", "bounded", "families=f"});
  const Outcome outcome = cellar({"import", "bounded", "-", "format=csv", "max-errors=2"},
                                 "id,f:a\nr1,1\nr2\nr3\nr4\nr5,1\n");
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_NE(outcome.err.find("more than 2 lines or cells were rejected"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("stopped at line 5"), std::string::npos) << outcome.err;
}

TEST_F(CliFiles, KeysAndValuesAreTakenAndShownInEveryForm) {
  good({"createtable", "forms", "families=f"});
  good({"set", "forms", "int64:7", "f:hex:ff=base64:AP8=", "f:n=int64:-5", "f:t=raw:hex:00",
        "f:e=esc:a\\tb", "--at", "1000"});
  EXPECT_EQ(good({"read", "forms", "--key-format", "int64"}),
            "7\n"
            "  f:e     1970-01-01T00:00:00.001Z  a\\tb\n"
            "  f:n     1970-01-01T00:00:00.001Z  \\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfb\n"
            "  f:t     1970-01-01T00:00:00.001Z  hex:00\n"
            "  f:\\xff  1970-01-01T00:00:00.001Z  \\x00\\xff\n");
  EXPECT_EQ(good({"lookup", "forms", "hex:0000000000000007", "columns=f:n", "--value-format",
                  "int64", "--key-format", "hex"}),
            "0000000000000007\n  f:n  1970-01-01T00:00:00.001Z  -5\n");
  EXPECT_EQ(good({"lookup", "forms", "int64:7", "columns=f:hex:ff", "--value-format", "int64"}),
            "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x07\n"
            "  f:\\xff  1970-01-01T00:00:00.001Z  hex:00ff\n");
  EXPECT_EQ(good({"lookup", "forms", "int64:7", "columns=f:n", "--key-format", "int64",
                  "--value-format", "int64", "--json"}),
            "{\"row_int64\":7,\"cells\":[{\"family\":\"f\",\"qualifier\":\"n\","
            "\"timestamp\":1000,\"value_int64\":-5}]}\n");
  const Outcome wrong = cellar({"lookup", "forms", "hex:0"});
  EXPECT_EQ(wrong.code, kUsage);
  EXPECT_NE(wrong.err.find("raw:hex:0"), std::string::npos) << wrong.err;

  // Exported and imported in every form of file and of bytes.
  const std::string whole = good({"export", "forms"});
  for (const char* format : {"csv", "jsonl", "cellar"}) {
    for (const char* form : {"utf8", "hex", "base64", "int64"}) {
      const std::string table = fmt::format("{}_{}", format, form);
      const std::string path = (dir() / fmt::format("{}.{}", table, format)).string();
      good({"export", "forms", path, "--bytes", form});
      good({"import", table, path, "--create"});
      EXPECT_EQ(good({"export", table}), whole) << path;
    }
  }
}

TEST_F(CliFiles, APlainCsvIsLoadedIntoOneFamily) {
  const std::string path =
      write_file("plain.csv", "code,name,note\nde,Germany,\nfr,France,\"a,b\"\n");
  const Outcome without = cellar({"import", "plain", path, "--create"});
  EXPECT_EQ(without.code, kFailed);
  EXPECT_NE(without.err.find("'name' is not a column"), std::string::npos) << without.err;
  EXPECT_NE(without.err.find("family=NAME"), std::string::npos) << without.err;
  good({"import", "plain", path, "--create", "family=c", "--at", "1000"});
  EXPECT_EQ(good({"lookup", "plain", "fr"}),
            "fr\n  c:name  1970-01-01T00:00:00.001Z  France\n"
            "  c:note  1970-01-01T00:00:00.001Z  a,b\n");
}

TEST_F(CliFiles, AnExportChoosesRowsFamiliesAndTimes) {
  good({"createtable", "chosen", "families=f,g"});
  for (const char* row : {"a", "b1", "b2", "c"}) {
    good({"set", "chosen", row, "f:q=1@1000", "f:q=2@2000", "g:q=3@3000"});
  }
  EXPECT_EQ(good({"export", "chosen", "format=csv", "prefix=b", "columns=f", "versions=1"}),
            "row,family,qualifier,timestamp,value,expire_at\nb1,f,q,2000,2,\nb2,f,q,2000,2,\n");
  EXPECT_EQ(good({"export", "chosen", "-", "--format", "csv", "start=b2", "until=2000"}),
            "row,family,qualifier,timestamp,value,expire_at\nb2,f,q,1000,1,\nc,f,q,1000,1,\n");
  EXPECT_EQ(good({"export", "chosen", "columns=none"}), "");
  const auto unnameable = cellar({"export", "chosen", std::string(300, 'x') + ".csv"});
  EXPECT_NE(unnameable.code, kDone);
  EXPECT_NE(unnameable.err.find("name too long"), std::string::npos) << unnameable.err;
  EXPECT_EQ(cellar({"export", "absent"}).code, kNotFound);
  EXPECT_EQ(cellar({"export", "chosen", "format=dpkg-log"}).code, kUsage);
  EXPECT_EQ(cellar({"export", "chosen", "-", "--resume"}).code, kUsage);
}

// In every form; 4102444800000000 is 2100-01-01.
TEST_F(CliFiles, ACellsOwnExpiryGoesThroughExportAndImport) {
  const std::string rows =
      "{\"row\":\"a\",\"cells\":[{\"family\":\"f\",\"qualifier\":\"q\",\"timestamp\":2000,"
      "\"value\":\"1\","
      "\"expire_at\":4102444800000000},{\"family\":\"f\",\"qualifier\":\"q\",\"timestamp\":1000,"
      "\"value\":\"2\"}]}\n"
      "{\"row\":\"b\",\"cells\":[{\"family\":\"f\",\"qualifier\":\"\",\"timestamp\":1000,\"value\":"
      "\"3\","
      "\"expire_at\":4102444800000001}]}\n";
  good({"createtable", "expiring", "families=f"});
  good({"import", "expiring", write_file("expiring.jsonl", rows)});
  EXPECT_EQ(good({"export", "expiring"}), rows);
  for (const std::string form : {"jsonl", "csv", "cellar"}) {
    const std::string path = (dir() / ("expiring_out." + form)).string();
    good({"export", "expiring", path, "format=" + form});
    good({"createtable", "again_" + form, "families=f"});
    good({"import", "again_" + form, path, "format=" + form});
    EXPECT_EQ(good({"export", "again_" + form}), rows) << form;
  }
  // A file written before that column existed.
  const std::string old =
      write_file("old.csv", "row,family,qualifier,timestamp,value\nr,f,q,1000,v\n");
  good({"createtable", "old_csv", "families=f"});
  good({"import", "old_csv", old});
  EXPECT_EQ(good({"export", "old_csv", "format=csv"}),
            "row,family,qualifier,timestamp,value,expire_at\nr,f,q,1000,v,\n");
  EXPECT_EQ(
      cellar(
          {"import", "old_csv", "-", "format=jsonl"},
          "{\"row\":\"r\",\"cells\":[{\"family\":\"f\",\"value\":\"v\",\"expire_at\":\"soon\"}]}\n")
          .code,
      kPartial);
}

TEST_F(CliFiles, AnExportReplacesNoLinkAndNothingThatIsNoFile) {
  good({"createtable", "special", "families=f"});
  good({"set", "special", "r", "f:q=v", "--at", "1000"});
  const std::string rows = good({"export", "special"});
  const auto contents = [](const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), {});
  };
  // A link keeps leading to its file, which is replaced; also if there is no file yet.
  const std::filesystem::path link = dir() / "link.jsonl";
  std::filesystem::create_symlink("real.jsonl", link);
  good({"export", "special", link});
  EXPECT_EQ(contents(dir() / "real.jsonl"), rows);
  write_file("real.jsonl", "old");
  EXPECT_EQ(cellar({"export", "special", link}).code, kFailed);
  good({"export", "special", link, "--overwrite"});
  EXPECT_EQ(contents(dir() / "real.jsonl"), rows);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  // A FIFO and a device are written into.
  const std::filesystem::path fifo = dir() / "fifo.jsonl";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = contents(fifo); });
  good({"export", "special", fifo, "--overwrite"});
  reader.join();
  EXPECT_EQ(received, rows);
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
  const Outcome full = cellar({"export", "special", "/dev/full", "format=jsonl", "--overwrite"});
  EXPECT_NE(full.code, kDone);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_NE(cellar({"export", "special", dir(), "format=jsonl", "--overwrite"}).code, kDone);
}

TEST_F(CliFiles, ADamagedExportFileIsRefusedFromTheDamageOn) {
  good({"createtable", "damaged", "families=f"});
  good({"set", "damaged", "r", "f:q=v", "--at", "1000"});
  const std::string path = (dir() / "damaged.cellar").string();
  good({"export", "damaged", path});
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  bytes[bytes.size() - 30] ^= 1;  // in the rows
  write_file("damaged.cellar", bytes);
  const Outcome outcome = cellar({"import", "damaged", path});
  EXPECT_EQ(outcome.code, kDamaged);
  EXPECT_NE(outcome.err.find("DATA_LOSS: the frame at byte "), std::string::npos) << outcome.err;
}

TEST_F(CliFiles, AnImportGoesOnFromItsCheckpointAndOnlyWithItsOwnFile) {
  std::string lines;
  for (int i = 0; i < 2'000; ++i) {
    lines += fmt::format(
        "{{\"row\":\"row{:05}\",\"cells\":[{{\"family\":\"f\",\"value\":\"{}\"}}]}}\n", i, i);
  }
  const std::string bad = "not json\n";
  good({"createtable", "gone_on", "families=f"});
  const std::string path = write_file("gone_on.jsonl", lines + bad + lines);
  EXPECT_EQ(cellar({"import", "gone_on", path, "max-errors=0", "--resume"}).code, kPartial)
      << "without a checkpoint it begins at the beginning";
  // A checkpoint after the first half: only the second half is read.
  const ImportIdentity identity = [&] {
    Console console;
    const auto session = make_session({}, console);
    auto plan = make_import_plan(
        *session, *Arguments::parse(*std::ranges::find(commands(), "import", &CommandSpec::name),
                                    {"gone_on", path}, {}));
    EXPECT_TRUE(open_input(*session, *plan));
    return plan->identity;
  }();
  const std::string checkpoint = checkpoint_path(path, "gone_on");
  ASSERT_TRUE(
      write_checkpoint(checkpoint, identity, {{lines.size() + bad.size(), 2001}, {}, 5000}));
  const Outcome hint = cellar({"import", "gone_on", path, "name-errors=0", "max-errors=0"});
  EXPECT_NE(hint.err.find("--resume would have continued there"), std::string::npos) << hint.err;
  ASSERT_TRUE(
      write_checkpoint(checkpoint, identity, {{lines.size() + bad.size(), 2001}, {}, 5000}));
  const std::string said = good({"import", "gone_on", path, "--resume", "at=now"});
  EXPECT_NE(said.find("2,000 records"), std::string::npos) << said;
  EXPECT_NE(good({"lookup", "gone_on", "row00001"}).find("00:00:00.005Z"), std::string::npos)
      << "the timestamp of the earlier run";
  EXPECT_FALSE(std::filesystem::exists(checkpoint));

  // A digit that has changed would skip lines without a word.
  ASSERT_TRUE(write_checkpoint(checkpoint, identity, {{10, 1}, {}, 5000}));
  std::stringstream text;
  text << std::ifstream(checkpoint).rdbuf();
  std::string flipped = text.str();
  flipped.replace(flipped.find("\"offset\":10"), 11, "\"offset\":11");
  std::ofstream(checkpoint) << flipped;
  const Outcome damaged = cellar({"import", "gone_on", path, "--resume"});
  EXPECT_EQ(damaged.code, kFailed);
  EXPECT_NE(damaged.err.find("its checksum is wrong"), std::string::npos) << damaged.err;

  ASSERT_TRUE(write_checkpoint(checkpoint, identity, {{10, 1}, {}, 5000}));
  write_file("gone_on.jsonl", lines);
  const Outcome changed = cellar({"import", "gone_on", path, "--resume"});
  EXPECT_EQ(changed.code, kFailed);
  EXPECT_NE(changed.err.find("the file has changed"), std::string::npos) << changed.err;
}

TEST_F(CliFiles, TheTimeOfAnImportIsKeptBeforeItsFirstWrite) {
  good({"createtable", "early", "families=f"});
  const std::string path = write_file("early.csv", "id,f:a\nr,1\n");
  const Outcome outcome = cellar({"import", "early", path, "checkpoint=/nonexistent/checkpoint"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_NE(outcome.err.find("this import cannot be resumed"), std::string::npos) << outcome.err;
}

TEST_F(CliFiles, ALineCanBeAsLongAsExportWritesIt) {
  const std::string escaped(6 << 20, '\x01');  // six bytes each in JSON
  good({"createtable", "long_line", "families=f"});
  good({"set", "long_line", "r", "f:1=" + escaped, "f:2=" + escaped});
  const std::string path = (dir() / "long_line.jsonl").string();
  good({"export", "long_line", path});
  ASSERT_GT(std::filesystem::file_size(path), 64u << 20);
  good({"import", "long_copy", path, "--create"});
  EXPECT_TRUE(good({"export", "long_copy"}) == contents(path)) << "another content";
}

TEST_F(CliFiles, ACellOfACsvLineCanBeAsLargeAsACellOfTheNode) {
  const std::string escaped(20 << 20, '\x01');  // four bytes each in CSV
  good({"createtable", "large_cell", "families=f"});
  good({"set", "large_cell", "r1", "f:1=" + escaped});
  good({"set", "large_cell", "r2", "f:1=v"});
  const std::string path = (dir() / "large_cell.csv").string();
  good({"export", "large_cell", path});
  ASSERT_GT(std::filesystem::file_size(path), 80u << 20);
  good({"import", "large_copy", path, "--create", "families=f"});
  EXPECT_TRUE(good({"export", "large_copy", "format=csv"}) == contents(path)) << "another content";
  // Nor does a resumed export write such a cell again.
  std::FILE* file = std::fopen(path.c_str(), "rb");
  const auto scan = scan_export(file, Format::csv, {});
  std::fclose(file);
  ASSERT_TRUE(scan) << scan.error().message;
  EXPECT_EQ(scan->last_key, "r1");
}

// Other lines keep their bound: one without an end is not read into memory.
TEST_F(CliFiles, ALineOfTableShapedCsvIsBounded) {
  const std::string path =
      write_file("long.csv", "row,f:q\nr1," + std::string(65 << 20, 'v') + "\nr2,v\n");
  good({"createtable", "bounded_csv", "families=f"});
  const Outcome outcome = cellar({"import", "bounded_csv", path});
  EXPECT_NE(outcome.err.find("the line is longer than 67108864 bytes"), std::string::npos)
      << outcome.err.substr(0, 500);
}

// Leaves the part of an export that was interrupted after `bytes`.
void interrupt(std::vector<std::string> words, const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(path + ".part/busy");
  words.insert(words.begin() + 2, path);
  EXPECT_NE(cellar(words).code, kDone) << "the part is a directory";
  std::filesystem::remove_all(path + ".part");
  std::ofstream(path + ".part", std::ios::binary) << bytes;
}

TEST_F(CliFiles, AnExportGoesOnWithItsOwnArgumentsOnly) {
  for (const char* table : {"part_a", "part_b"}) {
    good({"createtable", table, "families=f"});
    for (const char* row : {"r1", "r2"}) good({"set", table, row, "f:q=1@1000"});
  }
  const std::string some = R"(filter={"value_regex":"1"})";
  for (const std::string form : {"jsonl", "csv", "cellar"}) {
    const std::string path = (dir() / ("selected." + form)).string();
    const std::string whole = good({"export", "part_a", some, "format=" + form});
    interrupt({"export", "part_a", some}, path, whole.substr(0, whole.size() - 20));
    for (const std::vector<std::string>& other :
         {std::vector<std::string>{"export", "part_a", path, "--resume"},
          {"export", "part_a", path, "--resume", "values=1"},
          {"export", "part_a", path, "--resume", some, "values=1"},
          {"export", "part_b", path, "--resume", some}}) {
      refused(other, kFailed, "was begun with other arguments");
    }
    good({"export", "part_a", path, "--resume", some});
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    EXPECT_EQ(text.str(), whole) << form;
    EXPECT_FALSE(std::filesystem::exists(path + ".part.selection"));
  }
}

TEST_F(CliFiles, TheTimesOfAnExportCountFromItsFirstRun) {
  good({"createtable", "ongoing", "families=f"});
  good({"set", "ongoing", "r1", "f:q=1@1000"});
  for (const std::string form : {"jsonl", "cellar"}) {
    const std::string path = (dir() / ("ongoing." + form)).string();
    const std::string whole = good({"export", "ongoing", "until=now", "format=" + form});
    interrupt({"export", "ongoing", "until=now"}, path, whole);
    if (form == "cellar") {  // without its end
      std::ofstream(path + ".part", std::ios::binary) << whole.substr(0, whole.size() - 15);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    good({"set", "ongoing", "r2", "f:q=2"});
    good({"export", "ongoing", path, "until=now", "--resume"});
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    EXPECT_EQ(text.str(), whole) << form;
    good({"deleterow", "ongoing", "r2"});
  }
}

TEST_F(CliFiles, WhatIsNoExportFileEndsAnImportAtOnce) {
  good({"createtable", "no_export", "families=f"});
  for (const std::string content : {"", "this is a text, and no export of a table"}) {
    const std::string path = write_file("no_export.cellar", content);
    const Outcome outcome = cellar({"import", "no_export", path, "max-errors=0"});
    EXPECT_EQ(outcome.code, kFailed);
    EXPECT_NE(outcome.err.find("not an export file"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("not an export file"), outcome.err.rfind("not an export file"));
  }
  good({"set", "no_export", "r", "f:q=v@1000"});
  const std::string whole = good({"export", "no_export", "format=cellar"});
  const Outcome two = cellar({"import", "no_export", "-", "format=cellar"}, whole + whole);
  EXPECT_EQ(two.code, kDamaged);
  EXPECT_NE(two.err.find("goes on behind its end mark"), std::string::npos) << two.err;
  EXPECT_NE(two.err.find("after 1 rows"), std::string::npos) << two.err;
  EXPECT_EQ(two.err.find("in doubt"), std::string::npos) << "every row is acknowledged";
}

TEST_F(CliFiles, ATableIsMadeFromAPipeWithItsRule) {
  good({"createtable", "ruled", "families=f:maxage=2d", "granularity=micros"});
  good({"set", "ruled", "r", "f:q=v"});
  const std::string whole = good({"export", "ruled", "format=cellar"});
  good({"import", "piped", "-", "format=cellar", "--create"}, whole);
  EXPECT_EQ(good({"export", "piped"}), good({"export", "ruled"}));
  const std::string made = good({"ls", "piped"});
  EXPECT_NE(made.find("maxage=2d"), std::string::npos) << made;
  EXPECT_NE(made.find("micros"), std::string::npos) << made;
}

TEST_F(CliFiles, AnImportThatCannotBeginSaysWhy) {
  good({"createtable", "begins", "families=f"});
  EXPECT_EQ(cellar({"import", "t", "/nonexistent/x.csv"}).code, kFailed);
  EXPECT_EQ(cellar({"import", "t", dir().string(), "format=csv"}).code, kFailed);
  const Outcome absent = cellar({"import", "absent", "-", "format=package-list"}, "a\tb\tc\n");
  EXPECT_NE(absent.err.find("table 'absent' does not exist"), std::string::npos) << absent.err;
  EXPECT_NE(absent.code, kDone);
  const Outcome header = cellar({"import", "begins", "-", "format=csv"}, "only\n");
  EXPECT_EQ(header.code, kFailed);
  EXPECT_NE(header.err.find("the header"), std::string::npos) << header.err;
}

}  // namespace
}  // namespace cellar::cli
