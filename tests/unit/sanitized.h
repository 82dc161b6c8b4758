/*
 * sanitized.h - SANITIZED is 1 in a build with the address or the thread sanitizer, which makes tests several times as
 * slow. gcc defines a macro for each sanitizer; clang has __has_feature.
 */
#ifndef TENON_TESTS_UNIT_SANITIZED_H
#define TENON_TESTS_UNIT_SANITIZED_H

#ifdef __has_feature
#define SANITIZED_FEATURE(name) __has_feature(name)
#else
#define SANITIZED_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || SANITIZED_FEATURE(address_sanitizer) ||           \
    SANITIZED_FEATURE(thread_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
