/* rb_overhead.c - our own time on application threads. */
#include "threads/rb_overhead.h"

unsigned rb_rpp_overheads;

void rb_rpp_overhead_discard_after_fork(void)
{
    rb_rpp_overheads = 0;
}
