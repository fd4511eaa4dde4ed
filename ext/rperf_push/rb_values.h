/* rb_values.h - small steps between C and Ruby's values that several methods of Native take.
 *
 * Threads    under the GVL. All may raise.
 * Ownership  nothing to own.
 */
#ifndef RB_VALUES_H
#define RB_VALUES_H

#include "rb_compat.h"

#include "core/base/status.h"

/* hash[key.to_sym] = value */
static inline void rb_rpp_put(VALUE hash, const char *key, VALUE value)
{
    rb_hash_aset(hash, ID2SYM(rb_intern(key)), value);
}

/* Raises TypeError if the object is no Array. */
static inline VALUE rb_rpp_array(VALUE object)
{
    Check_Type(object, T_ARRAY);
    return object;
}

/* Raises NoMemoryError, or `error` with the text of any other failure. */
static inline void rb_rpp_check(rpp_status status, VALUE error)
{
    if (status == RPP_NO_MEMORY) rb_memerror();
    if (status != RPP_OK) rb_raise(error, "%s", rpp_status_text(status));
}

#endif
