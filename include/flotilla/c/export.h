/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_EXPORT_H
#define FLOTILLA_C_EXPORT_H
/** Declares the functions of the C interface. */

#ifdef __cplusplus
#define FLOTILLA_C_BEGIN extern "C" {
#define FLOTILLA_C_END }
#else
#define FLOTILLA_C_BEGIN
#define FLOTILLA_C_END
#endif

#ifdef FLOTILLA_STATIC /* the target flotilla::flotilla_static defines this macro for its users */
#define FLOTILLA_C_EXPORT
#else
#define FLOTILLA_C_EXPORT __attribute__((visibility("default")))
#endif

#endif
