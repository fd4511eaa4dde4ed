/* rb_naming.c - the name, the file and the first line of a frame, as profiles show them. */
#include "frames/rb_naming.h"

#include <stdio.h>
#include <string.h>

#include "core/base/source_path.h"
#include "core/profile/shown_stacks.h"

static char own_prefix[1024];
static char app_root[1024]; /* of the application; removed from paths; empty: unknown */

static bool has_text(VALUE string, const char *text)
{
    return (size_t)RSTRING_LEN(string) == strlen(text) && !memcmp(RSTRING_PTR(string), text, strlen(text));
}

static bool begins_with(VALUE string, const char *prefix)
{
    return (size_t)RSTRING_LEN(string) >= strlen(prefix) && !memcmp(RSTRING_PTR(string), prefix, strlen(prefix));
}

static bool is_own(VALUE path, VALUE class_path)
{
    if (RTEST(path)) return *own_prefix && begins_with(path, own_prefix);
    return RTEST(class_path) && begins_with(class_path, "RperfPush");
}

/* nil: the method is written in C. */
static VALUE path_of(VALUE frame)
{
    VALUE path = rb_profile_frame_absolute_path(frame);
    if (!RTEST(path)) return rb_profile_frame_path(frame); /* eval, <internal:...> */
    return has_text(path, "<cfunc>") ? Qnil : path;
}

static bool is_template(VALUE frame)
{
    VALUE method = rb_profile_frame_method_name(frame);
    return RTEST(method) && rpp_is_template_method(RSTRING_PTR(method), (size_t)RSTRING_LEN(method));
}

/* "Shop::Cart#total" for methods (blocks in a method come back as the method), "block in <main>" and so on for the
 * rest. */
static size_t compose_name(VALUE frame, VALUE class_path, char *name, size_t size)
{
    VALUE method = rb_profile_frame_method_name(frame);
    int length;
    if (RTEST(class_path) && RTEST(method)) {
        const char *mark = RTEST(rb_profile_frame_singleton_method_p(frame)) ? "." : "#";
        length = snprintf(name, size, "%.*s%s%.*s", RSTRING_LENINT(class_path), RSTRING_PTR(class_path), mark,
                          RSTRING_LENINT(method), RSTRING_PTR(method));
    } else {
        VALUE label = rb_profile_frame_label(frame);
        if (!RTEST(label)) label = method;
        if (!RTEST(label)) return (size_t)snprintf(name, size, "[unknown]");
        length = snprintf(name, size, "%.*s", RSTRING_LENINT(label), RSTRING_PTR(label));
    }
    return (size_t)length < size ? (size_t)length : size - 1;
}

static void find_place(VALUE frame, VALUE path, rb_rpp_frame_name *name)
{
    name->file[0] = '\0';
    name->file_length = 0;
    name->first_line = 0;
    if (!RTEST(path)) return;
    VALUE line = rb_profile_frame_first_lineno(frame);
    if (FIXNUM_P(line) && FIX2LONG(line) > 0) name->first_line = (uint32_t)FIX2LONG(line);
    name->file_length = rpp_source_path(name->file, sizeof name->file, RSTRING_PTR(path), (size_t)RSTRING_LEN(path),
                                        app_root, strlen(app_root));
}

/* A template is called like its file. */
static void find_text(VALUE frame, VALUE class_path, rb_rpp_frame_name *name)
{
    if (name->file_length && is_template(frame)) {
        name->length = (size_t)snprintf(name->text, sizeof name->text, "%.*s", RB_RPP_NAME_MAX_BYTES - 1, name->file);
    } else {
        name->length = compose_name(frame, class_path, name->text, sizeof name->text);
    }
}

/* The class of allocated objects. Its file is a word, so that it is taken for no method. */
static void name_class(VALUE klass, rb_rpp_frame_name *name)
{
    VALUE path = rb_class_path(klass);
    int length = snprintf(name->text, sizeof name->text, "%.*s", RSTRING_LENINT(path), RSTRING_PTR(path));
    name->length = (size_t)length < sizeof name->text ? (size_t)length : sizeof name->text - 1;
    name->file_length = (size_t)snprintf(name->file, sizeof name->file, "%s", RPP_CLASS_PATH);
    name->first_line = 0;
    name->is_own = begins_with(path, "RperfPush");
    RB_GC_GUARD(path);
}

void rb_rpp_name_frame(VALUE frame, rb_rpp_frame_name *name)
{
    if (RB_TYPE_P(frame, T_CLASS) || RB_TYPE_P(frame, T_MODULE)) {
        name_class(frame, name);
        return;
    }
    VALUE path = path_of(frame), class_path = rb_profile_frame_classpath(frame);
    find_place(frame, path, name);
    find_text(frame, class_path, name);
    name->is_own = is_own(path, class_path);
    RB_GC_GUARD(path);
    RB_GC_GUARD(class_path);
}

void rb_rpp_naming_set_root(const char *path)
{
    snprintf(app_root, sizeof app_root, "%s", strlen(path) < sizeof app_root ? path : "");
}

void rb_rpp_naming_init(const char *lib_dir)
{
    snprintf(own_prefix, sizeof own_prefix, "%s", lib_dir);
}
