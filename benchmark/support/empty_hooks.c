/* empty_hooks.c - hears what a profiler must hear of threads, and does nothing: what the VM takes to tell it. */
#include <ruby.h>
#include <ruby/thread.h>

static void hear(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused) {}

void Init_empty_hooks(void)
{
    rb_internal_thread_add_event_hook(hear,
                                      RUBY_INTERNAL_THREAD_EVENT_READY | RUBY_INTERNAL_THREAD_EVENT_RESUMED |
                                          RUBY_INTERNAL_THREAD_EVENT_SUSPENDED,
                                      NULL);
}
