/* counted_objects.h - gives what the VM's counters say to the rows that were sampled: counters decide totals, samples
 * decide the distribution.
 *
 * A sample of an allocation weighs as many objects as it stands for. The rows get the counted objects of their window
 * by these weights, so their sum is the counter's, to the object. The VM does not count bytes: a row gets those of its
 * samples, in proportion to its objects.
 *
 * Threads    one at a time.
 * Ownership  the caller owns the rows.
 */
#ifndef RPP_COUNTED_OBJECTS_H
#define RPP_COUNTED_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/row.h"

/* The sum of the weights of all samples. */
uint64_t rpp_counted_sampled(const rpp_row *rows, size_t count);
/* Uses up the weights of all samples. Returns the objects that found no sample: none, or all of them. */
uint64_t rpp_counted_distribute(rpp_row *rows, size_t count, uint64_t objects);

#endif
