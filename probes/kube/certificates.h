// The certificates of an ApiServer, read again from their files. Whoever rotates them replaces the
// files while the program runs. Those of a credential plugin are what it gave last.
#pragma once

#include <optional>
#include <string>

#include "probes/kube/api_server.h"

namespace cluster_watcher {

// Returns `server` with the certificates and the key that its files hold now; nullopt if they are
// the same, or if they can't be used: a file can't be read, doesn't parse, or the key isn't the
// client certificate's, as when only one of the two has been replaced yet.
std::optional<ApiServer> WithNewCertificates(const ApiServer& server);

// Whether the server's plugin has given another client certificate than the server holds.
bool HasOtherCertificate(const ApiServer& server);

// Whether the first is a certificate, the second a key without a password, and they belong
// together.
bool FitTogether(const std::string& certificate_pem, const std::string& key_pem);

}  // namespace cluster_watcher
