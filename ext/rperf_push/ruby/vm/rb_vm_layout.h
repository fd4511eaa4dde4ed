/* rb_vm_layout.h - the offsets of a few words in the VM's memory, for each series of Ruby.
 *
 * Ruby's headers do not tell them, and a walk that may begin at any instruction needs them (rb_walk.h). The numbers are
 * claims: before anything relies on them, rb_walk.c verifies them on the running Ruby, with stacks whose frames are
 * known.
 *
 * Offsets and sizes are in words (of a VALUE), unless a name says otherwise.
 *
 * Threads    any thread: the table is constant.
 * Ownership  the table is static.
 */
#ifndef RB_VM_LAYOUT_H
#define RB_VM_LAYOUT_H

#include "vm/rb_compat.h"

typedef struct rb_rpp_vm_layout {
    const char *series; /* "3.4" */
    struct {
        unsigned char self, ec;
    } thread;
    struct {
        unsigned char stack, stack_words, frame;
    } ec; /* execution context */
    struct {
        unsigned char pc, iseq, self, ep, words;
    } frame;
    struct {
        unsigned char ep;
    } env; /* an environment on the heap */
    struct {
        unsigned char cref_or_method;
    } svar;
    struct {
        unsigned char definition;
    } method;
    struct {
        unsigned char body;
        unsigned char code_bytes, code_size_bytes; /* in the body, in bytes */
    } iseq;
    /* For tracing only. */
    struct {
        unsigned char fiber;         /* of an execution context */
        unsigned char called, owner; /* of a method entry */
    } call;
    struct {
        unsigned char ec, frame, self, name, called, owner;
    } event; /* what a hook with RUBY_EVENT_HOOK_FLAG_RAW_ARG gets; rb_call_frames.c verifies it */
} rb_rpp_vm_layout;

/* NULL: this series is unknown. */
const rb_rpp_vm_layout *rb_rpp_vm_layout_of(const char *version);

#endif
