/* call_shortcuts.h - which node a call of a method leads to from its caller's node, for the calls that were made last.
 *
 * The way to a node is two hash tables: the method's id, then the caller's child. Most calls are repeated soon, and for
 * these one comparison is enough. A place is overwritten by the next call that falls on it.
 *
 * Threads    one at a time. No allocation.
 * Ownership  the caller owns it; nodes are numbers of its tree.
 */
#ifndef RPP_CALL_SHORTCUTS_H
#define RPP_CALL_SHORTCUTS_H

#include "calls/call_methods.h"
#include "calls/call_tree.h"

#define RPP_CALL_SHORTCUTS_BITS 10

typedef struct rpp_call_shortcut {
    rpp_call_key key;
    uint32_t parent, child;
} rpp_call_shortcut;

/* All zeros: it knows nothing, because the words of a key are not all 0. */
typedef struct rpp_call_shortcuts {
    rpp_call_shortcut places[1 << RPP_CALL_SHORTCUTS_BITS];
} rpp_call_shortcuts;

static inline rpp_call_shortcut *rpp_call_shortcut_at(rpp_call_shortcuts *shortcuts, uint32_t parent,
                                                      const rpp_call_key *key)
{
    uint64_t mixed = (((uint64_t)parent << 32 | parent) ^ key->code ^ key->name << 7 ^ key->owner << 17) *
                     UINT64_C(0x9e3779b97f4a7c15);
    return &shortcuts->places[mixed >> (64 - RPP_CALL_SHORTCUTS_BITS)];
}

static inline bool rpp_call_shortcut_is(const rpp_call_shortcut *place, uint32_t parent, const rpp_call_key *key)
{
    return place->parent == parent && place->key.code == key->code && place->key.name == key->name &&
           place->key.owner == key->owner;
}

#endif
