// SPDX-License-Identifier: Apache-2.0
//
// Which sanitizer this was compiled with: GCC says it by macros, clang by features.
#pragma once

#if defined(__has_feature)
#define RINGSIDE_HAS_FEATURE(name) __has_feature(name)
#else
#define RINGSIDE_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || RINGSIDE_HAS_FEATURE(address_sanitizer)
#define RINGSIDE_ADDRESS_SANITIZER 1
#else
#define RINGSIDE_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || RINGSIDE_HAS_FEATURE(thread_sanitizer)
#define RINGSIDE_THREAD_SANITIZER 1
#else
#define RINGSIDE_THREAD_SANITIZER 0
#endif
