/* tenon/util/cast.h - a cast that C and C++ compile without a warning; for the other headers of this folder. */
#ifndef TENON_UTIL_CAST_H
#define TENON_UTIL_CAST_H

#ifdef __cplusplus
#define TN_UTIL_CAST(type, value) static_cast<type>(value)
#else
#define TN_UTIL_CAST(type, value) ((type)(value))
#endif

#endif
