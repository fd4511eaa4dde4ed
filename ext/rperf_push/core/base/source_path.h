/* source_path.h - makes the path of a source file the same on every machine: it removes the place of installation.
 *
 * Threads    any thread; the functions are pure.
 * Ownership  the caller keeps path and buffer.
 */
#ifndef RPP_SOURCE_PATH_H
#define RPP_SOURCE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path to `to`, cut to `size` - 1 bytes, and returns its length:
 *   .../gems/rack-3.2.8/lib/rack.rb   rack/lib/rack.rb, for every version, platform and commit
 *   ROOT/app/models/cart.rb           app/models/cart.rb; a root_length of 0 means no root
 *   (eval at PATH:1)                  the same applied to PATH
 * Other paths are written unchanged. */
size_t rpp_source_path(char *to, size_t size, const char *path, size_t length, const char *root, size_t root_length);

/* The line of `file` for code whose path and line are these: the same line if it is that file, the line of the call if
 * it is text that eval ran there, "(eval at FILE:12)", also within another one, "(eval at (eval at FILE:12):1)". 0: it
 * is of another file. */
int rpp_line_in_file(const char *file, size_t file_length, const char *path, size_t length, int line);

/* Returns true if the method is a compiled template, "_app_views_home_html_erb___2965248030973713470_62820". Its name
 * differs in each process, so the path is shown instead. */
bool rpp_is_template_method(const char *name, size_t length);

#endif
