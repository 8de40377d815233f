#include "tests/process/support/web_driver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "tests/process/support/http_call.h"

namespace cellar::process {
namespace {

constexpr const char* kDriver = "/usr/bin/chromedriver";
constexpr const char* kBrowser = "/usr/bin/chromium";

std::string from_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) continue;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<char>(bits >> held & 0xff));
  }
  return out;
}

// "... was started successfully on port 40123."
std::string port_of(int fd) {
  std::string seen;
  char buffer[512];
  while (true) {
    pollfd p{fd, POLLIN, 0};
    if (poll(&p, 1, 20'000) <= 0) return "";
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) return "";
    seen.append(buffer, static_cast<size_t>(n));
    constexpr std::string_view kMark = "successfully on port ";
    const size_t at = seen.find(kMark);
    const size_t end = at == std::string::npos ? at : seen.find('.', at);
    if (end != std::string::npos) return seen.substr(at + kMark.size(), end - at - kMark.size());
  }
}

}  // namespace

bool WebDriver::available() { return access(kDriver, X_OK) == 0 && access(kBrowser, X_OK) == 0; }

WebDriver::WebDriver(const std::string& scratch, bool dark) {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    dup2(out[1], STDOUT_FILENO);
    const int null = ::open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    setenv("HOME", scratch.c_str(), 1);
    execl(kDriver, kDriver, "--port=0", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(out[1]);
  address_ = "127.0.0.1:" + port_of(out[0]);
  close(out[0]);
  // A newly installed browser may start too slowly for its driver, which then gives up.
  constexpr int kStarts = 3;
  for (int start = 0; start < kStarts && session_.empty(); ++start) {
    begin_session(fmt::format("{}/profile{}", scratch, start), dark);
  }
}

void WebDriver::begin_session(const std::string& profile, bool dark) {
  json::array arguments = {"--headless=new",    "--no-sandbox",
                           "--disable-gpu",     "--disable-dev-shm-usage",
                           "--no-first-run",    "--disable-background-networking",
                           "--hide-scrollbars", "--user-data-dir=" + profile};
  if (dark) arguments.push_back("--blink-settings=preferredColorScheme=0");
  const json::value wanted = {
      {"capabilities",
       {{"alwaysMatch",
         {{"browserName", "chrome"},
          {"goog:loggingPrefs", {{"browser", "ALL"}}},
          {"goog:chromeOptions", {{"binary", kBrowser}, {"args", arguments}}}}}}}};
  const json::value answer = call("POST", "/session", wanted);
  const auto* session = answer.is_object() ? answer.as_object().if_contains("sessionId") : nullptr;
  if (session != nullptr) {
    session_ = session->as_string();
  } else {
    problem_ = json::serialize(answer);
  }
}

WebDriver::~WebDriver() {
  if (!session_.empty()) call("DELETE", "/session/" + session_, nullptr);
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

json::value WebDriver::call(const std::string& method, const std::string& path,
                            const json::value& body) {
  const std::string text = body.is_null() ? "" : json::serialize(body);
  const HttpAnswer answer =
      http_call(address_, method, path, "Content-Type: application/json\r\n", text, 60'000);
  boost::system::error_code error;
  json::value value = json::parse(answer.body, error);
  if (error || !value.is_object() || !value.as_object().contains("value")) {
    return json::string(fmt::format("status {} body '{}'", answer.status, answer.body));
  }
  return value.at("value");
}

void WebDriver::open(const std::string& url) {
  call("POST", "/session/" + session_ + "/url", {{"url", url}});
}

void WebDriver::resize(int width, int height) {
  call("POST", "/session/" + session_ + "/window/rect", {{"width", width}, {"height", height}});
}

json::value WebDriver::run(std::string_view script) {
  return call("POST", "/session/" + session_ + "/execute/sync",
              {{"script", script}, {"args", json::array()}});
}

bool WebDriver::wait_for(std::string_view script, int timeout_ms) {
  const std::string whole = "return !!(" + std::string(script) + ")";
  for (int waited_ms = 0; waited_ms < timeout_ms; waited_ms += 50) {
    if (const json::value value = run(whole); value.is_bool() && value.as_bool()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

void WebDriver::keys(std::string_view text) {
  json::array actions;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : 3;
    const json::string key(text.substr(i, n));
    actions.push_back({{"type", "keyDown"}, {"value", key}});
    actions.push_back({{"type", "keyUp"}, {"value", key}});
    i += n;
  }
  call("POST", "/session/" + session_ + "/actions",
       {{"actions", json::array{{{"type", "key"}, {"id", "k"}, {"actions", actions}}}}});
}

void WebDriver::screenshot(const std::string& path) {
  const json::value image = call("GET", "/session/" + session_ + "/screenshot", nullptr);
  if (!image.is_string()) return;
  std::ofstream(path, std::ios::binary) << from_base64(image.as_string());
}

json::array WebDriver::log() {
  const json::value lines = call("POST", "/session/" + session_ + "/se/log", {{"type", "browser"}});
  return lines.is_array() ? lines.as_array() : json::array{json::string(json::serialize(lines))};
}

}  // namespace cellar::process
