// Objects as answers show them.
#pragma once

#include <string>
#include <string_view>

#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// With kind and apiVersion, as a GET shows it; `metadata_only`: as PartialObjectMetadata.
std::string Render(const Resource& resource, const Object& object, bool metadata_only);

// As a list shows it: built-in kinds come without kind and apiVersion.
std::string RenderItem(const Resource& resource, const Object& object, bool metadata_only);

enum class Representation { kWhole, kMetadata, kMetadataList, kNone };

// The first that `accept` asks for and we have; tables and other encodings are passed over.
Representation Negotiate(std::string_view accept);

}  // namespace cluster_watcher::small_kubernetes
