/* rb_values.h - small steps between C and Ruby's values that several methods of Native take.
 *
 * Threads    under the GVL. All may raise.
 * Ownership  nothing to own.
 */
#ifndef RB_VALUES_H
#define RB_VALUES_H

#include "vm/rb_compat.h"

#include "core/base/status.h"

/* hash[key.to_sym] = value */
static inline void rb_rpp_put(VALUE hash, const char *key, VALUE value)
{
    rb_hash_aset(hash, ID2SYM(rb_intern(key)), value);
}

/* The object's place in the Array, which it joins if it is new. The Hash knows the places. */
static inline uint32_t rb_rpp_place_of(VALUE object, VALUE array, VALUE places)
{
    VALUE known = rb_hash_lookup2(places, object, Qnil);
    if (!NIL_P(known)) return NUM2UINT(known);
    uint32_t place = (uint32_t)RARRAY_LEN(array);
    rb_ary_push(array, object);
    rb_hash_aset(places, object, UINT2NUM(place));
    return place;
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
