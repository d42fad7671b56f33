// Sends DELETEs over 8 connections that are kept, each its next when the last is answered, and
// nothing else: the least that deleting objects one by one takes.
//
//   bare_deletes SERVER CA_FILE TOKEN_FILE
//
// Reads "PATH UID RESOURCE-VERSION" of each object from standard input, and sends what
// cluster-watcher sends. Prints "connecting-ms deleting-ms". Fails where an answer isn't 200.
#include <curl/curl.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kConnections = 8;

struct Object {
  std::string path, uid, version;
};

std::size_t Drop(char* /*data*/, std::size_t size, std::size_t count, void* /*into*/) {
  return size * count;
}

class Connection {
 public:
  Connection(std::string server, const char* ca, const std::string& token)
      : server_(std::move(server)) {
    headers_ = curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str());
    headers_ = curl_slist_append(headers_, "Content-Type: application/json");
    curl_easy_setopt(curl_, CURLOPT_CAINFO, ca);
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(curl_, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, Drop);
  }
  ~Connection() {
    curl_easy_cleanup(curl_);
    curl_slist_free_all(headers_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool Open() { return Send("/livez"); }
  bool Delete(const Object& object) {
    const std::string body =
        R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background",)"
        R"("preconditions":{"uid":")" +
        object.uid + R"(","resourceVersion":")" + object.version + R"("}})";
    curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, "DELETE");
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.c_str());
    return Send(object.path);
  }

 private:
  bool Send(const std::string& path) {
    long status = 0;
    curl_easy_setopt(curl_, CURLOPT_URL, (server_ + path).c_str());
    const CURLcode code = curl_easy_perform(curl_);
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK && status == 200) return true;
    std::fprintf(stderr, "bare_deletes: %s: %s, status %ld\n", path.c_str(),
                 curl_easy_strerror(code), status);
    return false;
  }

  std::string server_;
  CURL* curl_ = curl_easy_init();
  curl_slist* headers_ = nullptr;
};

// Runs `work(connection)` on all of them side by side, and returns how many ms that took.
template <typename Work>
double Each(std::deque<Connection>& connections, Work work) {
  const auto began = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (Connection& connection : connections) {
      threads.emplace_back([&connection, &work] { work(connection); });
    }
  }
  const auto took = std::chrono::steady_clock::now() - began;
  return std::chrono::duration<double, std::milli>(took).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: bare_deletes SERVER CA_FILE TOKEN_FILE\n", stderr);
    return 2;
  }
  std::string token;
  std::ifstream(argv[3]) >> token;
  std::vector<Object> objects;
  for (Object object; std::cin >> object.path >> object.uid >> object.version;) {
    objects.push_back(object);
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  std::deque<Connection> connections;
  for (int i = 0; i < kConnections; ++i) connections.emplace_back(argv[1], argv[2], token);
  std::atomic<bool> failed = objects.empty();
  const double connecting = Each(connections, [&](Connection& connection) {
    if (!connection.Open()) failed = true;
  });
  std::atomic<std::size_t> next = 0;
  const double deleting = Each(connections, [&](Connection& connection) {
    for (std::size_t i; !failed && (i = next++) < objects.size();) {
      if (!connection.Delete(objects[i])) failed = true;
    }
  });
  std::printf("%.1f %.1f\n", connecting, deleting);
  return failed ? 1 : 0;
}
